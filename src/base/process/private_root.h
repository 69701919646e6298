#pragma once

#include <filesystem>
#include <vector>

namespace stoker {

// For kernels without Landlock: a root folder of the process's own (a mount namespace), below which there is
// nothing but the files and folders that are listed.

// Whether this process could have one. Containers and some distributions do not allow it.
bool can_have_private_root();

// From now on the process sees only these, under the paths that they have; missing ones are skipped. The last
// folder of `writable` is one of its own. Call it while the process has one thread.
void enter_private_root(const std::vector<std::filesystem::path>& readable,
                        const std::vector<std::filesystem::path>& writable);

}  // namespace stoker
