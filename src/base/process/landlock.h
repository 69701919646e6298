#pragma once

#include <filesystem>
#include <vector>

namespace stoker {

// The version of the kernel's interface; 0 if there is none. With STOKER_LANDLOCK=off it is 0 as well, so
// that tests see what happens on such a machine.
constexpr const char* landlock_variable = "STOKER_LANDLOCK";
int landlock_version();

struct LandlockRules {
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;
  bool may_connect = false;
};

// From now on the calling thread and its future threads open only what the rules list. Needs no_new_privs or
// CAP_SYS_ADMIN.
void restrict_with_landlock(const LandlockRules& rules);

// Rules that allow everything about files, as a descriptor; -1 if the kernel has none. A process that joins
// them, and all that it starts, can neither read the memory and the environment of processes outside nor
// trace them, whoever its user is.
int rules_of_own_processes();
// True if the calling process is held to them now. It takes neither memory nor a lock.
bool join_rules(int rules);

}  // namespace stoker
