#include "predict/real_coefficients.h"

#include "base/error.h"

namespace stoker {
namespace {

// A prepared column is (x - shift) / scale of what it was made from.
struct Scaled {
  double shift = 0;
  double scale = 1;
};

// What a curve makes of a number has no unit; it stays as the model reads it.
Scaled scaling_of(const ColumnScale& scale) {
  return scale.curve == ColumnScale::Curve::straight ? Scaled{scale.shift, scale.scale} : Scaled{};
}

std::vector<Scaled> scaling_of(const Preparation& preparation) {
  std::vector<Scaled> scaling;
  for (const PreparedColumn& column : preparation.columns()) {
    for (const TargetStatistic& each : column.statistics) scaling.push_back(scaling_of(each));
    if (!column.statistics.empty()) continue;
    for (std::int64_t i = 0; i < column.width(); ++i) scaling.push_back(scaling_of(column));
  }
  return scaling;
}

}  // namespace

std::vector<RealCoefficient> coefficients_in_real_units(const Model& model) {
  const Preparation& preparation = model.preparation;
  const auto coefficients = find_array(model.parameters, "coefficients").as<double>();
  const auto intercepts = find_array(model.parameters, "intercept").as<double>();
  const std::vector<std::string> names = preparation.feature_names();
  const std::vector<Scaled> scaling = scaling_of(preparation);
  if (names.size() != scaling.size() || coefficients.size() != names.size() * intercepts.size())
    fail("{} has {} coefficients for {} columns", model.type(), coefficients.size(), names.size());
  std::vector<RealCoefficient> result;
  for (std::size_t output = 0; output < intercepts.size(); ++output) {
    const std::string of_class = intercepts.size() > 1 ? preparation.classes().at(output) : "";
    const std::size_t first = result.size();
    double constant = intercepts[output];
    result.push_back({"(intercept)", of_class, 0});
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double per_unit = coefficients[output * names.size() + i] / scaling[i].scale;
      constant -= per_unit * scaling[i].shift;
      result.push_back({names[i], of_class, per_unit * preparation.target_scale()});
    }
    result[first].value = preparation.target_shift() + constant * preparation.target_scale();
  }
  return result;
}

}  // namespace stoker
