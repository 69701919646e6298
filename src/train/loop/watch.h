#pragma once

#include "base/process/stop.h"
#include "base/time/elapsed.h"
#include "train/loop/plan.h"
#include "train/loop/progress.h"

namespace stoker {

// When a training has to stop. The plan and the signal must live as long.
class Watch {
 public:
  Watch(const TrainingPlan& plan, const Progress& progress, const StopSignal& stop)
      : plan_(&plan), stop_(&stop), earlier_seconds_(progress.seconds) {}

  bool interrupted() const { return stop_->reason() == StopReason::interrupted; }
  // A model that has not learnt from a single step is no model, so the first chunk always runs.
  bool time_is_up(const Progress& progress) const {
    if (progress.next_step == 0) return false;
    if (stop_->reason() == StopReason::time_limit) return true;
    return plan_->time_limit > 0 && earlier_seconds_ + seconds_since(started_) >= plan_->time_limit;
  }

 private:
  const TrainingPlan* plan_;
  const StopSignal* stop_;
  double earlier_seconds_;
  Moment started_ = now();
};

}  // namespace stoker
