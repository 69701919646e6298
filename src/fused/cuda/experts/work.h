#pragma once

#include <cstdint>

#include "fused/cuda/experts/layout.h"
#include "kernels/begin_step.h"
#include "kernels/epoch_work.h"
#include "kernels/launch.h"
#include "kernels/losses_work.h"

// What the kernels of a mixture of experts read and write, all of it in device memory. Which step it is, how
// many rows it has, who lives and what the learning rate is stands there too: a step that was captured once
// is good for all of them.
namespace stoker::fused::experts {

// What an update takes of its step alone.
struct UpdateStep {
  float rate;
  float keep;          // what weight decay leaves of a weight (adamw)
  float step_size;     // the rate, corrected for a first moment that began with 0
  float inverse_root;  // the same for the root of the second
};

// Rows of a batch that go to one expert, in the order by experts.
struct Group {
  std::int32_t expert;
  std::int32_t first;
  std::int32_t rows;
  std::int32_t liked;  // rows of which the router alone would say so: others are drawn
};
// Some of them, for one product.
constexpr int rows_of_tile = 32;
struct RowTile {
  std::int32_t expert;
  std::int32_t first;
  std::int32_t rows;
};

// Of operands of the experts' products; those of the router are fp32 always, since a rounded score would send
// a row elsewhere.
enum class Operands { fp32, tf32, bf16 };

struct ExpertWork {
  Layout layout;
  int top_k = 1;
  float inverse_temperature = 1;
  float noise = 0;                      // of the scores, in training
  double exploration = 0;               // share of the rows that experts are drawn for, at first, in training
  std::int64_t planned_steps = 0;       // of which it falls in the second half
  std::uint64_t seed = 0;               // of these, and of dropout
  std::uint32_t dropout_threshold = 0;  // of 65,536
  float dropout_scale = 1;              // 1 / (1 - probability)
  float load_balance = 0;
  float router_z = 0;
  int terms = 1;  // losses that are told of, each
  bool is_training = true;
  Operands operands = Operands::fp32;
  bool starts_early = false;  // kernels take their places before the one that they wait for has ended

  std::int64_t batch = 0;       // rows that there is room for
  std::int64_t fixed_rows = 0;  // of a pass without a step; 0: those of the step
  kernels::StepCounters* counters = nullptr;
  const float* stopped = nullptr;   // 1: nothing is to be done
  const float* features = nullptr;  // [batch, inputs of the router]
  kernels::Losses losses;           // over what was mixed, of `batch` rows

  float* parameters = nullptr;    // these three: [layout.size]
  float* first_moment = nullptr;  // these two: null where the optimiser has none
  float* second_moment = nullptr;
  const std::int32_t* living = nullptr;  // [room], in their order
  const std::int32_t* living_count = nullptr;

  // Made by a step, for its own.
  float* inner = nullptr;  // [batch, outputs of the router's first layer]
  float* inner_deltas = nullptr;
  float* scores = nullptr;  // [batch, outputs of its second]
  float* score_deltas = nullptr;
  float* hesitation = nullptr;     // [batch]
  std::int32_t* chosen = nullptr;  // these four: [batch, top_k]
  std::int32_t* liked = nullptr;   // those that the router alone would choose; null where none are drawn
  float* shares = nullptr;
  std::int32_t* places = nullptr;   // in the order by experts
  std::int32_t* sources = nullptr;  // [batch * top_k]: of each place the row
  Group* groups = nullptr;          // [room], of all that live
  RowTile* tiles = nullptr;         // [most_row_tiles()]
  std::int32_t* tile_count = nullptr;
  float* answers[most_layers] = {};  // of each layer: [batch * top_k, outputs]
  float* deltas[most_layers] = {};
  float* mixed = nullptr;  // [batch, outputs of the last layer]
  float* mixed_gradients = nullptr;
  double* row_sums = nullptr;   // [batch], added to
  double* term_sums = nullptr;  // [terms, batch], added to; null where there is one loss alone

  // Of updates.
  int optimizer = 0;  // as number of plan.h
  float beta1 = 0;    // momentum for sgd
  float beta2 = 0;
  float take1 = 0;  // 1 - beta1, 1 - beta2
  float take2 = 0;
  float epsilon = 0;
  float decay = 0;                           // added to the gradient (adam, sgd)
  float max_grad_norm = 0;                   // 0: no clipping
  const std::int64_t* first_step = nullptr;  // of those that `steps` has
  const UpdateStep* steps = nullptr;
  float* squares = nullptr;      // [most_changed_tiles()]: of gradients, by tile
  float* clip_factor = nullptr;  // [1]
  double* norm_sum = nullptr;    // [1], added to

  // Of the end of an epoch.
  const kernels::EpochLine* lines = nullptr;
  std::int64_t line_capacity = 0;
  double* values = nullptr;  // [line_capacity, terms + 1]: sums of the losses, then of the norms
  float* best_parameters = nullptr;
};

STOKER_HOST_DEVICE int rows_of(const ExpertWork& work) {
  return static_cast<int>(work.fixed_rows > 0 ? work.fixed_rows : work.counters->current_rows);
}
STOKER_HOST_DEVICE bool draws_experts(const ExpertWork& work) {
  return work.is_training && work.exploration > 0;
}
STOKER_HOST_DEVICE std::int64_t most_row_tiles(const ExpertWork& work) {
  const std::int64_t pairs = work.batch * work.top_k;
  return pairs / rows_of_tile + (pairs < work.layout.room ? pairs : work.layout.room);
}
STOKER_HOST_DEVICE std::int64_t most_changed_tiles(const Layout& layout) {
  return changed_tiles_of_router(layout) +
         static_cast<std::int64_t>(layout.room) * changed_tiles_of_expert(layout);
}

// Launches; see step.cuh for what follows what. `blocks`: that the GPU has at work at a time.
kernels::LaunchError launch_step(const ExpertWork& work, int blocks, kernels::Stream stream);
kernels::LaunchError launch_validation(const ExpertWork& work, int blocks, kernels::Stream stream);
// Before an epoch is judged, and after it.
kernels::LaunchError launch_take_values(const ExpertWork& work, kernels::Stream stream);
kernels::LaunchError launch_keep_best(const ExpertWork& work, int blocks, kernels::Stream stream);

}  // namespace stoker::fused::experts
