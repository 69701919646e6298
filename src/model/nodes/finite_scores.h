#pragma once

#include <span>

namespace stoker::nodes {

// Refuses scores of which some are NaN: no order of them means anything.
void refuse_without_order(std::span<const float> scores);

}  // namespace stoker::nodes
