#include "device/device.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "device/cuda.h"

namespace stoker {
namespace {

// A value of /proc/meminfo, in bytes.
std::uint64_t memory_line(std::string_view key) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  for (std::string unit; file >> name >> kilobytes;) {
    if (std::string_view(name).starts_with(key)) return kilobytes * 1024;
    std::getline(file, unit);
  }
  return 0;
}

// The most memory that this program had, as the kernel tells it; 0: it does not.
std::uint64_t peak_in_status() {
  constexpr std::string_view key = "VmHWM:";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
  return 0;
}

DeviceInfo cpu_info() {
  DeviceInfo info;
  info.model = cpu_model();
  info.total_bytes = memory_bytes();
  info.free_bytes = available_memory_bytes();
  info.compute_units = cpu_cores();
  return info;
}

std::string what_is_here(const DeviceList& list) {
  std::vector<std::string> names;
  for (const DeviceInfo& info : list.devices) names.push_back(info.device.name());
  return join(names, ", ");
}

}  // namespace

std::string Device::name() const {
  return is_cuda() ? fmt::format("cuda:{}", index) : "cpu";
}

DeviceList list_devices() {
  DeviceList list;
  list.devices.push_back(cpu_info());
  for (DeviceInfo& gpu : cuda::devices(list.no_cuda_because)) list.devices.push_back(std::move(gpu));
  return list;
}

Device choose_device(const std::string& wanted, const Notes& notes) {
  if (wanted == "cpu") return Device::cpu();
  const bool automatic = wanted == "auto";
  int index = 0;
  if (!automatic && wanted != "cuda") {
    const std::string_view digits = std::string_view(wanted).substr(std::min<std::size_t>(5, wanted.size()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (!wanted.starts_with("cuda:") || error != std::errc() || end != digits.data() + digits.size() ||
        index < 0) {
      refuse("'{}' is not a device; use auto, cpu, cuda or cuda:N", wanted);
    }
  }
  const DeviceList list = list_devices();
  for (const DeviceInfo& info : list.devices) {
    if (info.device == Device::cuda(index)) return info.device;
  }
  if (automatic) {
    notes(Severity::info, fmt::format("training on the CPU: {}", list.no_cuda_because));
    return Device::cpu();
  }
  refuse("{} is not available ({}); available: {}", wanted,
         list.no_cuda_because.empty() ? "too few GPUs" : list.no_cuda_because, what_is_here(list));
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  // ARM kernels give numbers only; the part number names the common server cores.
  file.clear();
  file.seekg(0);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("CPU part")) continue;
    if (line.ends_with("0xd0c")) return "ARM Neoverse-N1";
    if (line.ends_with("0xd40")) return "ARM Neoverse-V1";
    if (line.ends_with("0xd4f")) return "ARM Neoverse-V2";
    return "ARM " + line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

int cpu_cores() {
  cpu_set_t allowed;
  const bool is_told = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const int cores = is_told ? CPU_COUNT(&allowed) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  // A share of them, where several programs run side by side by agreement. What is no number is no limit.
  const char* text = std::getenv("STOKER_THREADS");
  const long share = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return share > 0 ? static_cast<int>(std::min<long>(cores, share)) : cores;
}

std::uint64_t memory_bytes() {
  return memory_line("MemTotal");
}

std::uint64_t available_memory_bytes() {
  return memory_line("MemAvailable");
}

std::uint64_t peak_memory_bytes() {
  // What getrusage() tells is at least what the process had that started this one.
  if (const std::uint64_t told = peak_in_status(); told > 0) return told;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace stoker
