#include "train/loop/diverged.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace stoker {

bool all_finite(const NamedArrays& arrays) {
  return std::all_of(arrays.begin(), arrays.end(), [](const NamedArray& each) {
    if (each.array.type() != DType::float32) return true;
    const std::span<const float> values = each.array.as<float>();
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  });
}

void fail_diverged(const TrainingPlan& plan, std::int64_t epoch, const std::string& what) {
  throw Diverged(
      fmt::format("training diverged in epoch {} of {}: {}; lower learning_rate (it is {}), set "
                  "max_grad_norm, for example to 1, or look for extreme values in the data",
                  epoch + 1, plan.config.epochs, what, plan.config.learning_rate));
}

void fail_unless_finite(const NamedArrays& parameters, const TrainingPlan& plan, const Progress& progress) {
  if (!all_finite(parameters))
    fail_diverged(plan, progress.next_step / plan.steps_per_epoch, "a weight is not a finite number");
}

}  // namespace stoker
