#include "model/nodes/finite_scores.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace stoker::nodes {

void refuse_without_order(std::span<const float> scores) {
  const auto bad = std::ranges::count_if(scores, [](float each) { return std::isnan(each); });
  if (bad > 0)
    refuse("{} of {} scores {} not a number (NaN); look for pixels of the cubes that are NaN or infinite",
           bad, scores.size(), bad == 1 ? "is" : "are");
}

}  // namespace stoker::nodes
