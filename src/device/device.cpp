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
#include "base/text/text.h"
#include "device/control_groups.h"
#include "device/cuda.h"
#include "device/host_memory.h"

namespace stoker {
namespace {

// Whole cores that control groups leave; 0: they set no quota. Read once: it is asked for in loops.
int cores_of_quota() {
  static const int cores = [] {
    const auto quota = cpu_quota_of_control_groups();
    return quota ? std::max(1, static_cast<int>(*quota)) : 0;
  }();
  return cores;
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
  const MemoryOfHost memory = memory_of_host();
  info.total_bytes = memory.total;
  info.free_bytes = memory.available;
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
  const bool is_known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  long cores = is_known ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
  if (const int quota = cores_of_quota(); quota > 0) cores = std::min<long>(cores, quota);
  // A share of them, if several programs divide the machine. Text that is not a number sets no limit.
  const char* text = std::getenv("STOKER_THREADS");
  if (const long share = text == nullptr ? 0 : std::strtol(text, nullptr, 10); share > 0)
    cores = std::min(cores, share);
  return static_cast<int>(cores);
}

std::uint64_t memory_bytes() {
  return memory_of_host().total;
}

std::uint64_t available_memory_bytes() {
  return memory_of_host().available;
}

std::uint64_t peak_memory_bytes() {
  // What getrusage() tells is at least what the process had that started this one.
  if (const std::uint64_t told = peak_in_status(); told > 0) return told;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace stoker
