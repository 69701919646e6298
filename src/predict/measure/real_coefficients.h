#pragma once

#include <optional>
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
  std::optional<double> deviation =
      std::nullopt;  // between the members of an ensemble, of which it is the mean
};

// Of a model that is linear in its prepared columns, with their scaling undone. Each output's intercept comes
// first. Of an ensemble the mean over those members that have the feature, which is the coefficient of what
// it predicts where all have it.
std::vector<RealCoefficient> coefficients_in_real_units(const Model& model);

}  // namespace stoker
