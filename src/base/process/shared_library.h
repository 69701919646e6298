#pragma once

#include <string>
#include <vector>

namespace stoker {

// A library that is opened when it is first needed, by the names that systems have it under, and stays open:
// what does not use it needs neither its headers nor the library. A file of names with a folder is taken as
// it stands.
class SharedLibrary {
 public:
  // Refuses, with the package to install, where there is none. `needed_by` begins the sentence: "source
  // postgres".
  SharedLibrary(const std::vector<std::string>& names, const std::string& needed_by,
                const std::string& package);

  // Refuses a library that lacks the function.
  template <class Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(address_of(name));
  }
  // Of a variable that the library has; null where it lacks it.
  void* find_variable(const char* name) const;

 private:
  void* address_of(const char* name) const;

  void* handle_ = nullptr;
  std::string found_;
  std::string needed_by_;
  std::string package_;
};

}  // namespace stoker
