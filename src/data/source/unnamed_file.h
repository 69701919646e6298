#pragma once

#include <filesystem>
#include <span>

namespace stoker {

// A file in the system's temporary folder that nobody else sees: it has no name there, and its space is free
// again when the last part of the program that uses it is gone, however the program ends.
class UnnamedFile {
 public:
  UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;
  ~UnnamedFile();

  // Under which this process alone can open it.
  std::filesystem::path path() const;
  void append(std::span<const char> bytes);

 private:
  int descriptor_ = -1;
};

}  // namespace stoker
