#pragma once

#include <algorithm>
#include <utility>

#include "train/loop/progress.h"

namespace stoker {

// Passes everything on, and keeps the epochs that a training has finished, for one that ends with an error.
class FinishedEpochs : public TrainingListener {
 public:
  FinishedEpochs(TrainingListener& listener, Progress before, std::int64_t steps_per_epoch)
      : listener_(listener), progress_(std::move(before)), steps_per_epoch_(steps_per_epoch) {}

  void epoch_finished(const EpochReport& report) override {
    progress_.epochs.push_back(report);
    progress_.seconds += report.seconds;
    progress_.next_step = std::max(progress_.next_step, (report.record.epoch + 1) * steps_per_epoch_);
    listener_.epoch_finished(report);
  }
  void epochs_planned(std::int64_t epochs) override { listener_.epochs_planned(epochs); }
  void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override {
    listener_.advanced(step, total_steps, steps_per_second);
  }
  void ensemble_advanced(const EnsembleStanding& standing) override { listener_.ensemble_advanced(standing); }
  void gpu_seen(const GpuReading& reading) override { listener_.gpu_seen(reading); }
  void note(Severity severity, const std::string& message) override { listener_.note(severity, message); }

  // How far the training came: to the end of its last epoch.
  const Progress& progress() const { return progress_; }

 private:
  TrainingListener& listener_;
  Progress progress_;
  std::int64_t steps_per_epoch_;
};

}  // namespace stoker
