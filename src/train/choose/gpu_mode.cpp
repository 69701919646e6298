#include "train/choose/gpu_mode.h"

#include <algorithm>

#include <fmt/format.h>

#include "device/device.h"

namespace stoker {

std::string problem_of(const GpuModeConfig& mode, const std::string& device) {
  if (mode.gpu_mode == GpuMode::automatic || device == "auto") return "";
  if ((mode.gpu_mode == GpuMode::cpu) == (device == "cpu")) return "";
  return fmt::format("gpu_mode is {}, but device is {}; leave one of them out",
                     config::name_of(mode.gpu_mode), device);
}

std::string device_asked_for(const GpuModeConfig& mode, const std::string& device) {
  if (mode.gpu_mode == GpuMode::automatic || device != "auto") return device;
  return mode.gpu_mode == GpuMode::cpu ? "cpu" : "cuda";
}

void tell_of_gpu_mode(const GpuModeConfig& mode, const Notes& notes) {
  if (mode.gpu_mode != GpuMode::multi_gpu) return;
  const auto devices = list_devices().devices;
  const auto gpus =
      std::ranges::count_if(devices, [](const DeviceInfo& each) { return each.device.is_cuda(); });
  notes(Severity::info,
        fmt::format("gpu_mode is multi_gpu: there {} here, and a training uses one, so {} changes nothing",
                    gpus == 1 ? "is one GPU" : fmt::format("are {} GPUs", gpus),
                    config::name_of(mode.parallel_strategy)));
}

}  // namespace stoker
