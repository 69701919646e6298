#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/notes.h"

namespace stoker {

struct Device {
  enum class Kind : std::uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;

  static Device cpu() { return {}; }
  static Device cuda(int index) { return {Kind::cuda, index}; }
  bool is_cuda() const { return kind == Kind::cuda; }
  std::string name() const;  // "cpu", "cuda:0"
  friend bool operator==(const Device&, const Device&) = default;
};

struct DeviceInfo {
  Device device;
  std::string model;  // "NVIDIA H200", "Neoverse-N1"
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  int compute_units = 0;       // cores or multiprocessors
  int compute_capability = 0;  // 90 for sm_90; 0 for a CPU
  std::string driver;          // "CUDA 13.0"; empty for a CPU
};

// The CPU first, then the GPUs; with why there are none, when there are none.
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::string no_cuda_because;
};
DeviceList list_devices();

// "auto", "cpu", "cuda" or "cuda:N". auto takes the first GPU, or the CPU and says so in a note.
// A device that is asked for by name and is not here is refused with what is here.
Device choose_device(const std::string& wanted, const Notes& notes);

// Whole machine and process, for the run's record.
std::string cpu_model();
int cpu_cores();
std::uint64_t memory_bytes();
std::uint64_t peak_memory_bytes();

}  // namespace stoker
