#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace stoker {

// Time that all cores of the host have spent since it was started, in ticks of the system.
struct ProcessorTime {
  std::uint64_t busy = 0;
  std::uint64_t all = 0;
};
// None where the file does not tell it.
std::optional<ProcessorTime> processor_time(const std::filesystem::path& file = "/proc/stat");
// Share of the time between two looks in which cores had something to do; 0 where none has passed.
double busy_between(const ProcessorTime& earlier, const ProcessorTime& later);

}  // namespace stoker
