#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

// Limits that control groups (cgroups, versions 1 and 2) set for this process. Every level of the tree
// counts: the group of the process and all groups above it.
namespace stoker {

struct ControlGroups {
  std::filesystem::path process = "/proc/self/cgroup";  // the file that lists the groups of the process
  std::filesystem::path tree = "/sys/fs/cgroup";        // where groups are mounted
};

struct MemoryOfGroups {
  std::uint64_t limit = 0;  // the smallest of all levels
  std::uint64_t room = 0;   // the smallest difference between limit and use; cached files do not count as use
};
// None if no level has a limit.
std::optional<MemoryOfGroups> memory_of_control_groups(const ControlGroups& groups = {});

// Cores' worth of CPU time that the process may use, for example 1.5. None if no level has a quota.
std::optional<double> cpu_quota_of_control_groups(const ControlGroups& groups = {});

}  // namespace stoker
