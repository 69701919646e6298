#include "data/target/class_weights.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/text.h"
#include "config/usual_bounds.h"

namespace stoker {
namespace {

std::vector<double> balanced_weights(std::span<const std::int64_t> classes, std::size_t count) {
  std::vector<double> rows(count, 0);
  for (const std::int64_t each : classes) ++rows[static_cast<std::size_t>(each)];
  const double share = static_cast<double>(classes.size()) / static_cast<double>(count);
  std::vector<double> weights;
  for (const double of_class : rows) weights.push_back(of_class > 0 ? share / of_class : 0);
  return weights;
}

double weight_given(const config::Entry& entry) {
  const auto* whole = entry.value.get_if<std::int64_t>();
  const auto* number = entry.value.get_if<double>();
  const double weight = whole != nullptr ? static_cast<double>(*whole) : number != nullptr ? *number : -1;
  if (!(weight >= 0 && weight <= config::largest_weight))
    refuse(
        "class_weights: the weight of the class '{}' is {}; it must be a number of at least 0 and at most "
        "{:.0f}",
        entry.key, entry.value.describe(), config::largest_weight);
  return weight;
}

}  // namespace

bool ClassWeighting::is_wanted() const {
  const auto* given = class_weights.get_if<config::Value::Map>();
  return class_weight != ClassWeight::none || (given != nullptr && !given->empty());
}

std::vector<double> weights_of_classes(const ClassWeighting& weighting, std::span<const std::int64_t> classes,
                                       const std::vector<std::string>& names) {
  const bool is_balanced = weighting.class_weight == ClassWeight::balanced;
  std::vector<double> weights =
      is_balanced ? balanced_weights(classes, names.size()) : std::vector<double>(names.size(), 1);
  const auto* given = weighting.class_weights.get_if<config::Value::Map>();
  if (given == nullptr || given->empty()) return weights;
  if (is_balanced) refuse("class_weight is balanced and class_weights is given; leave one of them out");
  for (const config::Entry& entry : *given) {
    const auto found = std::find(names.begin(), names.end(), entry.key);
    if (found == names.end())
      refuse("class_weights names the class '{}', which the target does not have{}", entry.key,
             did_you_mean(entry.key, names));
    weights[static_cast<std::size_t>(found - names.begin())] = weight_given(entry);
  }
  return weights;
}

}  // namespace stoker
