#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/notes.h"
#include "device/device_info.h"

namespace stoker {

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
std::uint64_t available_memory_bytes();  // free, or held for files that the system can let go of
std::uint64_t peak_memory_bytes();

}  // namespace stoker
