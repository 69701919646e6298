#pragma once

#include <cstdint>

#include "base/random.h"
#include "fused/cuda/experts/layout.h"
#include "fused/cuda/experts/work.h"
#include "kernels/launch.h"

// What the kernels of a sleep read and write, all of it in device memory: experts are compared, born, merged
// and removed where they lie. model/experts/expert_state.h says what each of it is, and the host decides.
namespace stoker::fused::experts {

constexpr int most_sums = 96;  // that a unit is compared by where its values are more, as most_compared
constexpr int most_units = 4096;

struct PlacePair {
  std::int32_t one;
  std::int32_t other;
};

// How units of a hidden layer are compared: by what they read, each a row of length 1.
struct ComparedLayer {
  const float* signs = nullptr;  // [inputs and the bias, most_sums]; null: the values are compared themselves
  std::int64_t at = 0;           // of the first unit, in what there is of an expert
  int stride = 0;
  int order_at = 0;  // of the first unit among those of all hidden layers
};

struct SleepWork {
  Layout layout;
  int top_k = 1;
  float* state[3] = {};            // parameters and moments, as in ExpertWork; null: the optimiser has none
  std::int32_t* living = nullptr;  // [room], and behind them their number

  std::int64_t choices = 0;         // of the rows that are remembered: rows * top_k
  const float* features = nullptr;  // these three: as in ExpertWork, of all these rows
  const std::int32_t* chosen = nullptr;
  const float* shares = nullptr;
  double* centres = nullptr;  // [room, inputs of the router]

  const PlacePair* pairs = nullptr;
  int pair_count = 0;
  double* cosines = nullptr;     // [pairs]
  double* adaptation = nullptr;  // [room]

  ComparedLayer compared[most_layers];
  std::int64_t units_size = 0;
  float* units = nullptr;     // [room, units_size]
  double* squares = nullptr;  // [room]: of all weights and biases
  // Of each block that aligns pairs, one at a time.
  int pair_blocks = 1;
  std::int64_t likeness_size = 0;
  float* likeness = nullptr;  // of the units of a layer, [outputs, outputs]
  std::int64_t reordered_size = 0;
  float* reordered = nullptr;  // units of the other, with what they read in the one's order
  std::int64_t order_size = 0;
  std::int32_t* orders = nullptr;  // of all hidden layers: the other's unit for each of the one's

  double* deviations = nullptr;  // [2 * layers + 1]
};

// What is to be done.
struct SleepOrder {
  enum class Kind { compare_rows, adaptation, align, bear, merge, remove };
  Kind kind;
  int place = 0;          // born, kept or removed
  int other = -1;         // its parent, the one that goes into it, or its neighbour; none: -1
  int pair = 0;           // of a merge, among those that were aligned
  float share = 0;        // of the one that is kept; of a removed one's column in the router
  RandomKey noise = {};   // these three: of a birth
  double of_weights = 0;  // deviation of the noise, of that of an array
  double of_router = 0;
};

// Of a work that has rows and noise of its own: who would answer for its fixed_rows.
kernels::LaunchError launch_routes(const ExpertWork& work, int blocks, kernels::Stream stream);
kernels::LaunchError launch_sleep(const SleepWork& work, const SleepOrder& order, int blocks,
                                  kernels::Stream stream);

}  // namespace stoker::fused::experts
