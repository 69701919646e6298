#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace stoker {

// Held on the file run.lock of a run folder by the process that works on it. The kernel lets go of it when
// that process ends, however it ends and wherever it ran, so that nobody has to guess who is still there.
class RunLock {
 public:
  // None when somebody else holds it. Writes into the file who took it, for messages.
  static std::optional<RunLock> take(const std::filesystem::path& run_folder);

  RunLock(RunLock&& other) noexcept;
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

  // Whether the file in this folder is still the one that is held: not after the folder was deleted or moved.
  bool is_in(const std::filesystem::path& run_folder) const;

 private:
  explicit RunLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

enum class Held { no, yes, unknown };  // unknown: the file system has no locks, or the file cannot be opened
Held lock_of(const std::filesystem::path& run_folder);
// "process 4711 on some-host", or "another process" where the file does not say.
std::string holder_of_lock(const std::filesystem::path& run_folder);

}  // namespace stoker
