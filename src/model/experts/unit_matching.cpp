#include "model/experts/unit_matching.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace stoker {
namespace {

struct BestUnit {
  float likeness = 0;
  std::int32_t unit = -1;

  // Units come in rising order: of equals the first stays.
  void consider(float found, std::int32_t who) {
    if (unit >= 0 && !(found > likeness)) return;
    likeness = found;
    unit = who;
  }
};

}  // namespace

// Two that are most alike for each other are a pair whatever becomes of the rest, so that nothing has to be
// sorted: a few passes over what is left find all of them.
std::vector<std::int32_t> matched_units(std::span<const float> likeness, std::int64_t units) {
  const auto count = static_cast<std::size_t>(units);
  std::vector<std::int32_t> of_one(count, -1);
  std::vector<std::int32_t> ones(count);
  std::iota(ones.begin(), ones.end(), 0);
  std::vector<std::int32_t> others = ones;
  std::vector<BestUnit> best_of_one(count);
  std::vector<BestUnit> best_of_other(count);
  std::vector<bool> is_taken(count);
  while (!ones.empty()) {
    for (const std::int32_t other : others) best_of_other[static_cast<std::size_t>(other)] = {};
    for (const std::int32_t one : ones) {
      const float* row = likeness.data() + static_cast<std::size_t>(one) * count;
      BestUnit best;
      for (const std::int32_t other : others) {
        const float value = row[other] == row[other] ? row[other] : -std::numeric_limits<float>::infinity();
        best.consider(value, other);
        best_of_other[static_cast<std::size_t>(other)].consider(value, one);
      }
      best_of_one[static_cast<std::size_t>(one)] = best;
    }
    for (const std::int32_t one : ones) {
      const std::int32_t other = best_of_one[static_cast<std::size_t>(one)].unit;
      if (best_of_other[static_cast<std::size_t>(other)].unit != one) continue;
      of_one[static_cast<std::size_t>(one)] = other;
      is_taken[static_cast<std::size_t>(other)] = true;
    }
    std::erase_if(ones, [&](std::int32_t one) { return of_one[static_cast<std::size_t>(one)] >= 0; });
    std::erase_if(others, [&](std::int32_t other) { return is_taken[static_cast<std::size_t>(other)]; });
  }
  return of_one;
}

}  // namespace stoker
