#pragma once

#include <vector>

#include "predict/measure/evaluation.h"
#include "predict/spectral/cube_findings.h"

namespace stoker {

// Scores that need no model, and the verdict whether the scores of a model are better: how far marked pixels
// rank above the others of their cube. Nothing if no pixel is marked, or all are.
void add_pixel_baseline(const std::vector<MeasuredCube>& cubes, Evaluation& evaluation);

}  // namespace stoker
