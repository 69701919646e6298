#include "device/host_memory.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include "base/error.h"

namespace stoker {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A line "name: number kB" of a file of /proc, in bytes; 0 if there is none.
std::uint64_t kilobytes_named(const char* file, std::string_view name) {
  std::ifstream input(file);
  for (std::string line; std::getline(input, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t digits = line.find_first_not_of(" \t", name.size());
    if (digits == std::string::npos) return 0;
    return 1024 * std::strtoull(line.c_str() + digits, nullptr, 10);
  }
  return 0;
}

std::uint64_t soft_limit(decltype(RLIMIT_DATA) resource) {
  rlimit limit{};
  const bool is_known = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_known ? limit.rlim_cur : unlimited;
}

std::uint64_t left_of(std::uint64_t limit, std::uint64_t used) {
  return limit - std::min(limit, used);
}

// The limit of RLIMIT_DATA before fail_allocations_beyond_control_groups() lowered it.
const rlimit& original_data_limit() {
  static const rlimit limit = [] {
    rlimit found{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(RLIMIT_DATA, &found);
    return found;
  }();
  return limit;
}

// The stack of a thread counts whole towards RLIMIT_DATA, although little of it is used. The usual 8 MiB for
// each of many cores would leave so much room that allocations pass which the control group has no memory
// for.
std::uint64_t small_stack_of_new_threads() {
  constexpr std::size_t most = std::size_t{2} << 20U;
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return most;
  std::size_t size = 0;
  ::pthread_attr_getstacksize(&attributes, &size);
  if (size > most && ::pthread_attr_setstacksize(&attributes, most) == 0 &&
      ::pthread_setattr_default_np(&attributes) == 0)
    size = most;
  ::pthread_attr_destroy(&attributes);
  return size;
}

}  // namespace

std::optional<std::uint64_t> bytes_in_environment(const char* variable) {
  const char* given = std::getenv(variable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  const auto bytes = number_of(given);
  if (!bytes) refuse("{} is '{}'; it must be a number of bytes", variable, given);
  if (*bytes == 0) refuse("{} is 0, which leaves no memory at all; unset it for no limit", variable);
  return bytes;
}

MemoryOfHost memory_of_host(const ControlGroups& groups) {
  MemoryOfHost memory{kilobytes_named("/proc/meminfo", "MemTotal:"),
                      kilobytes_named("/proc/meminfo", "MemAvailable:")};
  const auto take_limit = [&](std::uint64_t limit, std::uint64_t room) {
    memory.total = std::min(memory.total == 0 ? unlimited : memory.total, limit);
    memory.available = std::min(memory.available == 0 ? unlimited : memory.available, room);
  };
  if (const auto of_groups = memory_of_control_groups(groups)) take_limit(of_groups->limit, of_groups->room);
  if (const std::uint64_t addresses = soft_limit(RLIMIT_AS); addresses != unlimited)
    take_limit(addresses, left_of(addresses, kilobytes_named("/proc/self/status", "VmSize:")));
  if (const std::uint64_t data = original_data_limit().rlim_cur; data != RLIM_INFINITY)
    take_limit(data, left_of(data, kilobytes_named("/proc/self/status", "VmData:")));
  return memory;
}

std::uint64_t free_host_memory() {
  return memory_of_host().available;
}

void fail_allocations_beyond_control_groups(int threads, const ControlGroups& groups) {
  const rlimit& original = original_data_limit();
  // Read before and after: what another thread frees meanwhile must not count as neither used nor free.
  const std::uint64_t used_before = kilobytes_named("/proc/self/status", "VmData:");
  const auto of_groups = memory_of_control_groups(groups);
  if (!of_groups) return;
  // The kernel counts its page tables and buffers too.
  const std::uint64_t room = left_of(of_groups->room, of_groups->limit / 32);
  const std::uint64_t stacks =
      small_stack_of_new_threads() * static_cast<std::uint64_t>(std::max(threads, 0));
  const std::uint64_t used = std::max(used_before, kilobytes_named("/proc/self/status", "VmData:"));
  const std::uint64_t most = used + room + stacks;
  // Never up again: another thread may have allocated memory that it has not touched yet, which VmData and
  // the room both have.
  const rlimit lowered{std::min<rlim_t>(soft_limit(RLIMIT_DATA), most), original.rlim_max};
  ::setrlimit(RLIMIT_DATA, &lowered);
}

void fail_allocations_in_place_of_stacks(int more_threads, const ControlGroups& groups) {
  const rlim_t original = original_data_limit().rlim_cur;
  rlimit now{};
  const bool was_lowered = ::getrlimit(RLIMIT_DATA, &now) == 0 && now.rlim_cur != original;
  if (was_lowered) fail_allocations_beyond_control_groups(more_threads, groups);
}

void return_freed_memory_at_once(const ControlGroups& groups) {
  constexpr int large_block = 4 << 20;
  if (!memory_of_control_groups(groups)) return;
  ::mallopt(M_MMAP_THRESHOLD, large_block);
  ::mallopt(M_TRIM_THRESHOLD, 4 * large_block);
}

void restore_allocation_limit() {
  const rlimit& original = original_data_limit();
  ::setrlimit(RLIMIT_DATA, &original);
}

}  // namespace stoker
