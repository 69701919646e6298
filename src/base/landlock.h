#pragma once

#include <filesystem>
#include <vector>

namespace stoker {

// The version of the kernel's interface; 0 if there is none.
int landlock_version();

struct LandlockRules {
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;
  bool may_connect = false;
};

// From now on the calling thread and its future threads open only what the rules list. Needs no_new_privs or
// CAP_SYS_ADMIN.
void restrict_with_landlock(const LandlockRules& rules);

}  // namespace stoker
