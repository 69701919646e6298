#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace stoker {

// What one more of a feature, in its own unit, adds to the prediction in the target's unit, or to the logit
// of a class.
struct RealCoefficient {
  std::string feature;   // "area", "kind=brick"; "(intercept)": the prediction where all features are 0
  std::string of_class;  // empty where there is one output
  double value = 0;
};

// Of a model that is linear in its prepared columns, with their scaling undone. Each output's intercept comes
// first.
std::vector<RealCoefficient> coefficients_in_real_units(const Model& model);

}  // namespace stoker
