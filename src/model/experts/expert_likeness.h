#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/experts/expert_state.h"
#include "model/experts/expert_surgery.h"

namespace stoker {

// Two experts can compute the same with their hidden units in another order. This is the order of the other's
// units that fits best, for each hidden layer, and the cosine of all weights and biases then.
struct AlignedExperts {
  std::vector<std::vector<std::int32_t>> units;  // units[l][i]: of the other, for unit i of the one
  double cosine = 0;
};
std::vector<AlignedExperts> align(const ExpertArrays& arrays, std::span<const ExpertPair> pairs);

// Beyond so many values a unit's weights are compared by as many random sums of them: a pair of experts with
// 784 inputs takes a tenth of the time, and the few that are matched wrongly are units that hardly differ.
constexpr std::int64_t most_compared = 96;
constexpr bool is_compared_by_sums(std::int64_t values) {
  return values > 2 * most_compared;
}
// The signs that values have in these sums, [values, most_compared].
std::vector<float> signs_of_sums(std::int64_t values);

// How alike two experts are: by their weights and by the rows that they answer for.
constexpr double share_of_weights = 0.6;
constexpr double share_of_rows = 0.4;

}  // namespace stoker
