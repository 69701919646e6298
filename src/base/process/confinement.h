#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stoker {

// What a process may still do after confine_process(). Everything else fails with "permission denied".
struct Confinement {
  std::vector<std::filesystem::path>
      readable;  // files and folders with their content; missing ones are skipped
  std::vector<std::filesystem::path> writable;  // the same, also readable
  bool may_connect = false;                     // to other machines and processes
  std::uint64_t memory_bytes = 0;               // of data; 0: no limit
  std::uint64_t file_bytes = 0;                 // of the largest file that it writes; 0: no limit
};

// What this machine enforces.
struct ConfinementMeans {
  int landlock = 0;            // the version of its interface; 0: none
  bool private_root = false;   // a mount namespace, which is used only without Landlock
  bool filters_calls = false;  // seccomp

  bool hides_files() const { return landlock > 0 || private_root; }
};
ConfinementMeans confinement_means();
// For people: "landlock 7 and seccomp", "mount namespace and seccomp".
std::string to_text(const ConfinementMeans& means);

// Gives up everything that `allowed` does not list, for good. Call it while the process has one thread.
// Throws if the machine offers a means that then fails. Where it offers none, only the limits hold.
void confine_process(const Confinement& allowed);

// Folders and files that libraries read while they run.
std::vector<std::filesystem::path> files_of_the_system();
// What else they read to find and trust other machines.
std::vector<std::filesystem::path> files_for_connecting();

}  // namespace stoker
