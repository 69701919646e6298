#include "predict/measure/real_coefficients.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/windows/windows_config.h"

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

// Answers that are told relative to the last value of a window have it with a coefficient of 1 beside what
// the model learnt for it.
void add_base(const Preparation& preparation, std::vector<RealCoefficient>& coefficients) {
  if (!preparation.is_relative()) return;
  const std::string last = lag_column(preparation.target_column(), 0);
  const auto found = std::ranges::find(coefficients, last, &RealCoefficient::feature);
  if (found != coefficients.end()) {
    found->value += 1;
  } else {
    coefficients.push_back({last, "", 1});
  }
}

std::vector<RealCoefficient> of_one(const Model& model) {
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
    result.push_back({"(intercept)", of_class});
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double per_unit = coefficients[output * names.size() + i] / scaling[i].scale;
      constant -= per_unit * scaling[i].shift;
      result.push_back({names[i], of_class, per_unit * preparation.target_scale()});
    }
    result[first].value = preparation.target_shift() + constant * preparation.target_scale();
  }
  add_base(preparation, result);
  return result;
}

// Coefficients of a number that some members read as it is and others by a curve have no unit in common.
bool read_alike(const std::vector<Model>& members) {
  std::map<std::string, ColumnScale::Curve> curves;
  for (const Model& member : members)
    for (const PreparedColumn& column : member.preparation.columns())
      if (column.curve != ColumnScale::Curve::constant &&  // which has no say
          curves.try_emplace(column.name, column.curve).first->second != column.curve)
        return false;
  return true;
}

// Features stand in the order in which members first have them: a rare category may be in some alone.
std::vector<RealCoefficient> mean_of(const std::vector<Model>& members) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> values;
  std::vector<RealCoefficient> result;
  for (const Model& member : members) {
    for (RealCoefficient& each : of_one(member)) {
      std::vector<double>& known = values[{each.of_class, each.feature}];
      known.push_back(each.value);
      if (known.size() == 1) result.push_back(std::move(each));
    }
  }
  for (RealCoefficient& each : result) {
    const std::vector<double>& own = values.at({each.of_class, each.feature});
    const auto count = static_cast<double>(own.size());
    double squares = 0;
    each.value = std::accumulate(own.begin(), own.end(), 0.0) / count;
    for (const double value : own) squares += (value - each.value) * (value - each.value);
    each.deviation = std::sqrt(squares / std::max(1.0, count - 1));
  }
  return result;
}

}  // namespace

std::vector<RealCoefficient> coefficients_in_real_units(const Model& model) {
  if (!model.is_ensemble()) return of_one(model);
  return read_alike(model.members) ? mean_of(model.members) : std::vector<RealCoefficient>{};
}

}  // namespace stoker
