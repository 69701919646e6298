#pragma once

#include <string>
#include <vector>

#include "predict/measure/charts.h"
#include "predict/measure/class_rows.h"

namespace stoker {

// How often what is predicted with a probability comes true, in ten ranges of one width; those without rows
// are left out. Of two classes it is the probability of the second, of more that of the predicted class.
Calibration calibration_of(const ClassRows& rows, const std::vector<std::string>& class_names);

}  // namespace stoker
