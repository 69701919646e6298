#include "device/host_load.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

namespace stoker {

std::optional<ProcessorTime> processor_time(const std::filesystem::path& file) {
  // user, nice, system, idle, waiting for devices, interrupts (two kinds), taken by other machines; the time
  // of guests behind them is part of the first two.
  std::array<std::uint64_t, 8> parts{};
  constexpr std::size_t idle = 3;
  constexpr std::size_t waiting = 4;
  std::ifstream input(file);
  std::string name;
  input >> name;
  if (name != "cpu") return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!(input >> parts[i]) && i <= idle) return std::nullopt;  // old systems tell four
  ProcessorTime time;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    time.all += parts[i];
    if (i != idle && i != waiting) time.busy += parts[i];
  }
  return time;
}

double busy_between(const ProcessorTime& earlier, const ProcessorTime& later) {
  if (later.all <= earlier.all || later.busy < earlier.busy) return 0;
  return std::min(
      1.0, static_cast<double>(later.busy - earlier.busy) / static_cast<double>(later.all - earlier.all));
}

}  // namespace stoker
