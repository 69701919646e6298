#include "serve/slots.h"

#include <algorithm>

#include <fmt/format.h>

#include "device/device.h"

namespace stoker::serve {

std::vector<Slot> slots_of_machine(int on_processor) {
  std::vector<Slot> slots;
  int gpus = 0;
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device.is_cuda())
      slots.push_back(
          {fmt::format("gpu-{}", gpus), true, {{"CUDA_VISIBLE_DEVICES", std::to_string(gpus++)}}});
  // Jobs side by side that each took all cores would wait for each other.
  const std::string threads = std::to_string(std::max(1, cpu_cores() / std::max(1, on_processor)));
  for (int i = 0; i < on_processor; ++i)
    slots.push_back(
        {fmt::format("cpu-{}", i),
         false,
         {{"CUDA_VISIBLE_DEVICES", ""}, {"STOKER_THREADS", threads}, {"OMP_NUM_THREADS", threads}}});
  return slots;
}

bool has_gpu(const std::vector<Slot>& slots) {
  return std::ranges::any_of(slots, &Slot::is_gpu);
}

}  // namespace stoker::serve
