#include "train/rows/weigh_rows.h"

#include <utility>

#include "base/error.h"
#include "data/table/row_weights.h"

namespace stoker {

std::vector<double> class_weights_on(const Table& training, const Preparation& preparation,
                                     const ClassWeighting& weighting) {
  if (!weighting.is_wanted()) return {};
  if (preparation.task() == Task::regression)
    refuse(
        "{} is for classes, but the target column '{}' contains quantities; weight_column weighs single rows",
        weighting.class_weight == ClassWeight::none ? "class_weights" : "class_weight",
        preparation.target_column());
  return weights_of_classes(weighting, preparation.class_targets(training), preparation.classes());
}

void weigh_rows(const Table& table, const std::string& weight_column, std::span<const double> class_weights,
                Dataset& dataset) {
  if (weight_column.empty() && class_weights.empty()) return;
  std::vector<double> factors;
  if (!class_weights.empty())
    for (const std::int64_t each : std::as_const(dataset).targets().as<std::int64_t>())
      factors.push_back(class_weights[static_cast<std::size_t>(each)]);
  dataset.arrays.push_back({"weights", Role::weights, row_weights(table, weight_column, factors)});
}

}  // namespace stoker
