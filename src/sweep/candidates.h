#pragma once

#include <vector>

#include "config/value.h"
#include "pipeline/document/sweep_document.h"

namespace stoker {

// A value for each searched setting, in the order of the space.
using Candidate = std::vector<config::Value>;

// All that are tried. grid: every combination, the last setting changing fastest. Else draws, the same for
// the same seed; those of lists alone are all different.
std::vector<Candidate> candidates_of(const SweepDocument& sweep);

}  // namespace stoker
