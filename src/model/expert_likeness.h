#pragma once

#include <cstdint>
#include <vector>

#include "model/expert_surgery.h"

namespace stoker {

// Two experts can compute the same with their hidden units in another order. This is the order of the other's
// units that fits best, for each hidden layer, and the cosine of all weights and biases then.
struct AlignedExperts {
  std::vector<std::vector<std::int32_t>> units;  // units[l][i]: of the other, for unit i of the one
  double cosine = 0;
};
AlignedExperts align(const ExpertArrays& arrays, std::int64_t one, std::int64_t other);

// How alike two experts are: by their weights and by the rows that they answer for.
constexpr double share_of_weights = 0.6;
constexpr double share_of_rows = 0.4;

}  // namespace stoker
