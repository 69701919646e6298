#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "train/choose/recorded_figures.h"

// `device: auto` where there is a GPU: what is on record decides, or else steps that are measured now, where
// the training is long enough. Nothing here touches a device.
namespace stoker {

// By arithmetic, until there are figures.
struct PredictedWay {
  double step_seconds = 0;
  double ready_seconds = 0;
};

// A training whose device is open.
struct OpenDevice {
  Device gpu;
  std::string gpu_model;
  std::int64_t steps = 0;
  double time_limit = 0;  // seconds; 0: none
  PredictedWay on_gpu;
  PredictedWay on_cpu;
};

// Steps taken on a device to see how long they are.
struct Trial {
  std::optional<StepFigures> figures;  // none: the time was over before
  bool is_possible = true;             // false: `auto` has no engine there, or one that needs LibTorch
};
struct Trials {
  std::function<Trial(Device device, double seconds)> measure;
  std::function<double()> clock;  // seconds, from any moment on
};

struct DeviceChoice {
  Device device;
  std::string told;                   // which it is and why, in a line; "": as ever
  std::vector<StepFigures> measured;  // now, to be recorded
};

// How long measuring may take in all: 2 % of the training as it would be on the GPU, by its figures or by
// arithmetic, if that is more than 10 s. 0: nothing is to be measured, since both devices are known, or there
// is no time for it.
double seconds_to_measure(const OpenDevice& open, std::span<const StepFigures> figures);

// By figures that are on record.
DeviceChoice choose_known_device(const OpenDevice& open, std::span<const StepFigures> figures);
// The same, once devices without figures are measured, where that is to be done.
DeviceChoice choose_open_device(const OpenDevice& open, std::vector<StepFigures> figures,
                                const Trials& trials);

}  // namespace stoker
