#pragma once

#include <cstdint>
#include <optional>

#include "device/control_groups.h"

namespace stoker {

// A number of bytes in an environment variable, so that tests can try a large dataset with a small one; none
// if the variable is not set. Throws if it is not a number of bytes.
std::optional<std::uint64_t> bytes_in_environment(const char* variable);

// Memory that this process can use: the machine's, or less if control groups, `ulimit -v` or `ulimit -d`
// limit it. Cached files count as available.
struct MemoryOfHost {
  std::uint64_t total = 0;
  std::uint64_t available = 0;
};
MemoryOfHost memory_of_host(const ControlGroups& groups = {});
std::uint64_t free_host_memory();  // MemoryOfHost::available

// The kernel kills a process that exceeds the memory limit of its control group, whereas an allocation beyond
// RLIMIT_DATA fails, and the program can continue with smaller parts. This call lowers RLIMIT_DATA to what
// the groups leave at the moment, plus the stacks of so many new threads. It never raises a limit, and has no
// effect if no group has one.
void fail_allocations_beyond_control_groups(int threads, const ControlGroups& groups = {});
// Lowers the limit again when these threads run, but for the stacks of so many more. A stack counts whole,
// although little of it is used: until then, that much could be allocated beyond the limit of the group. Has
// no effect if the call above had none.
void fail_allocations_in_place_of_stacks(int more_threads, const ControlGroups& groups = {});
// Under a memory limit of a control group, large blocks go back to the system as soon as they are freed.
// Otherwise the allocator keeps them for the thread that had them, and trainings that follow find less
// memory. Has no effect if no group has a limit.
void return_freed_memory_at_once(const ControlGroups& groups = {});

// Sets RLIMIT_DATA as it was before.
void restore_allocation_limit();

}  // namespace stoker
