#pragma once

#include <filesystem>
#include <mutex>
#include <string_view>

#include <sys/types.h>

namespace stoker {

// A new file or folder under a name that nobody else has: the digits at its end are random, because
// containers that share a folder number their processes alike. Its maker holds a lock on it, which the kernel
// lets go of when that process ends, so that others can tell what is being made from what a killed process
// left.
class Claim {
 public:
  enum class Kind { file, folder };
  // Under the name `beginning` with sixteen hexadecimal digits behind it. Refuses by the name of `purpose`.
  Claim(Kind kind, const std::filesystem::path& beginning, mode_t mode, const std::filesystem::path& purpose);
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim();  // removes what has the name

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  // What was made has another name by now, and stays.
  void release();
  // While it is held, remove_claims() waits: for who gives what was made its name, or another's place.
  static std::unique_lock<std::recursive_mutex> hold_off_clearing();

 private:
  bool make(Kind kind, mode_t mode);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Whether these are digits such as a claim's name ends with.
bool is_number_of_claim(std::string_view digits);

// Removes the claims of this user and machine in a folder whose makers are gone: those whose names, less the
// digits, end like this. What a file system without locks cannot tell stays.
void clear_abandoned(const std::filesystem::path& folder, std::string_view ending);

// For a process that ends at once: removes what it has claimed.
void remove_claims() noexcept;

}  // namespace stoker
