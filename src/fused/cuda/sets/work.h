#pragma once

#include <cstdint>

#include "fused/cuda/sets/layout.h"
#include "kernels/begin_step.h"
#include "kernels/launch.h"

// What the kernels over sets read and write, all of it in device memory; rows may be pinned.
namespace stoker::fused::sets {

struct SetRows {
  const float* features = nullptr;  // [rows, members, columns]
  const float* present = nullptr;   // [rows, members]
  const float* targets = nullptr;   // [rows, outputs - 1]
  const float* weights = nullptr;   // [rows]; null: 1 each
  std::int64_t rows = 0;
};

// What an update takes of its step alone.
struct UpdateStep {
  float rate;
  float keep;          // what weight decay leaves of a weight (adamw)
  float step_size;     // the rate, corrected for a first moment that began with 0
  float inverse_root;  // the same for the root of the second
};

struct TrainSets {
  Sizes sizes{};
  SetRows rows;
  const UpdateStep* steps = nullptr;  // [step_count], of the launch
  int step_count = 0;                 // all of one epoch
  std::int64_t first_step = 0;        // of the run
  std::int64_t epoch = 0;
  std::int64_t first_position = 0;  // of its row in the epoch
  std::int64_t batch_size = 0;
  int rounds = 1;  // that a block makes for a batch
  std::uint64_t seed = 0;
  std::uint32_t dropout_threshold = 0;  // of 65,536
  float dropout_scale = 1;              // 1 / (1 - probability)
  int optimizer = 0;                    // see number
  float beta1 = 0;                      // momentum for sgd
  float beta2 = 0;
  float epsilon = 0;
  float decay = 0;          // added to the gradient (adam, sgd)
  float max_grad_norm = 0;  // 0: no clipping

  float* parameters = nullptr;  // these four: [parameters], as layout.h has them
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  float* unfinished = nullptr;     // [team, parameters]: gradients between the rounds of a batch
  double* row_sums = nullptr;      // [team * block_rows], added to
  const float* stopped = nullptr;  // 1: nothing is to be done
  kernels::StepCounters* counters = nullptr;
};

struct ValidateSets {
  Sizes sizes{};
  SetRows rows;
  const float* parameters = nullptr;
  const float* stopped = nullptr;
  double* sums = nullptr;  // [validation_blocks()]
};
constexpr std::int64_t validation_blocks(const Sizes& sizes, std::int64_t rows) {
  return (rows + sizes.rows() - 1) / sizes.rows();
}

// Before the first launch on a device: what they may take of it. Not null where it cannot run them.
kernels::LaunchError prepare_kernels(const Sizes& sizes);
kernels::LaunchError train_sets(const TrainSets& work, kernels::Stream stream);
kernels::LaunchError validate_sets(const ValidateSets& work, kernels::Stream stream);

}  // namespace stoker::fused::sets
