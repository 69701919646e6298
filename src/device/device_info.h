#pragma once

#include <cstdint>
#include <string>

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

}  // namespace stoker
