#pragma once

#include <chrono>
#include <string>

#include "base/time/elapsed.h"
#include "device/gpu_meter.h"
#include "train/loop/progress.h"

namespace stoker {

// Watches the GPU of a training, and tells of it every other second; everything else it passes on.
class WatchedTraining : public TrainingListener {
 public:
  WatchedTraining(Device device, TrainingListener& listener)
      : listener_(listener), watch_(gpu_meter_of(device)), told_(now()) {}

  GpuUse use() const { return watch_.use(); }

  void epoch_finished(const EpochReport& report) override { listener_.epoch_finished(report); }
  void epochs_planned(std::int64_t epochs) override { listener_.epochs_planned(epochs); }
  void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override {
    constexpr double seconds_between = 2;
    if (seconds_since(told_) >= seconds_between) {
      told_ = now();
      if (const auto reading = watch_.latest()) listener_.gpu_seen(*reading);
    }
    listener_.advanced(step, total_steps, steps_per_second);
  }
  void ensemble_advanced(const EnsembleStanding& standing) override { listener_.ensemble_advanced(standing); }
  void note(Severity severity, const std::string& message) override { listener_.note(severity, message); }

 private:
  TrainingListener& listener_;
  GpuWatch watch_;
  Moment told_;
};

}  // namespace stoker
