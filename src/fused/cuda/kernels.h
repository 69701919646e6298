#pragma once

#include <cstdint>

#include "fused/cuda/plan.h"
#include "fused/cuda/work.h"
#include "kernels/end_epoch.h"
#include "kernels/launch.h"

// What the fused engine launches beside the training kernel itself. Everything lies in device memory
// (features and targets may be pinned); nothing waits for the host.
namespace stoker::fused {

using kernels::LaunchError;
using kernels::Stream;

// fp16 ends at 65,504; beyond half of it, sums of a few such values would leave it too.
constexpr float most_feature = 32'768.0F;

// Rows as the training kernel reads them: fp16, padded to depth columns, a 1 behind the last one; the target
// beside its weight.
struct RowsWork {
  const float* features = nullptr;              // [rows, columns]
  const float* float_targets = nullptr;         // [rows]; one of the two is null
  const std::int64_t* class_targets = nullptr;  // [rows]
  const float* weights = nullptr;               // [rows]; null: 1 each
  std::int64_t rows = 0;
  int columns = 0;
  int depth = 0;
  std::uint16_t* half_features = nullptr;  // null: not wanted
  RowTarget* targets = nullptr;
  std::uint32_t* beyond = nullptr;  // set to 1 when a feature does not fit fp16
};
LaunchError prepare_rows(const RowsWork& work, Stream stream);

// The least and the largest of the classes, and of what `range` holds before.
struct ClassRange {
  std::int64_t least;
  std::int64_t most;
};
LaunchError find_class_range(const std::int64_t* classes, std::int64_t count, ClassRange* range,
                             Stream stream);

// The rows of each step of a model's part, and what depends on the step alone.
struct StepsWork {
  std::uint64_t seed = 0;
  std::int64_t rows = 0;
  std::int64_t batch = 0;
  std::int64_t stride = 0;  // places for rows that a step has in `order`
  std::int64_t steps_per_epoch = 0;
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
  const float* rates = nullptr;  // [steps]
  int optimizer = 0;
  double beta1 = 0;
  double beta2 = 0;
  double weight_decay = 0;
  double loss_scale = 1;
  std::int32_t* order = nullptr;   // [steps, stride]
  StepFactors* factors = nullptr;  // [steps]
};
// Each for `count` models at once, none of which has more than `most_steps`; all have one stride. The rows
// ask for no learning rates, so that these may still be on their way.
LaunchError list_rows(const StepsWork* models, int count, std::int64_t most_steps, std::int64_t stride,
                      Stream stream);
LaunchError prepare_factors(const StepsWork* models, int count, std::int64_t most_steps, Stream stream);

// The end of a launch of the training kernel, for every model in it: steps are counted, and for a model whose
// epoch ended, the validation rows are judged and the epoch is decided on. Models whose epochs end have at
// most `most_validation_rows`; 0 where none of them has any.
struct EpochWork {
  kernels::EndEpoch end;
  const float* features = nullptr;  // validation rows: [rows, columns]
  const RowTarget* targets = nullptr;
  double* validation_parts = nullptr;  // [validation_tiles()]
  float loss_shape = 1;
};
constexpr int validation_rows_of_a_block = 32;
struct Advance {
  std::int32_t steps[Models::most];  // that each model has just been trained for
};
LaunchError judge_epochs(const Plan& plan, const EpochWork* models, const Advance& advance, int count,
                         std::int64_t most_validation_rows, Stream stream);

// flags[i] becomes 1 when one of the `each` values of i is larger than the bound, or no number.
LaunchError find_beyond(const float* values, std::int64_t each, int count, float bound, std::uint32_t* flags,
                        Stream stream);

}  // namespace stoker::fused
