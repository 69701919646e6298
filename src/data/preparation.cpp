#include "data/preparation.h"

#include <numeric>

#include "base/error.h"
#include "data/feature_columns.h"
#include "data/target_column.h"

namespace stoker {

Preparation Preparation::fit(const Table& training, const PreparationConfig& config, Scaling default_scaling,
                             const Notes& notes) {
  if (training.rows() == 0) refuse("there are no rows to train on");
  if (!config.weight_column.empty()) {
    column_position(training, config.weight_column);
    if (config.weight_column == config.target_column)
      refuse("weight_column and target_column are both '{}'", config.target_column);
  }
  Scaling scaling = config.scaling == Scaling::automatic ? default_scaling : config.scaling;
  if (scaling == Scaling::automatic) scaling = Scaling::standard;
  LearntTarget target = learn_target(training, config, config.scale_target ? scaling : Scaling::none, notes);
  Preparation result;
  result.task_ = target.task;
  result.missing_values_ = config.missing_values;
  result.target_column_ = config.target_column;
  result.classes_ = std::move(target.classes);
  result.target_shift_ = target.shift;
  result.target_scale_ = target.scale;
  result.columns_ = learn_columns(training, config, scaling, notes);
  return result;
}

std::vector<double> Preparation::real_targets(const Table& table) const {
  return target_numbers(table, target_column_);
}

std::vector<std::int64_t> Preparation::class_targets(const Table& table) const {
  return target_class_numbers(table, target_column_, classes_);
}

std::vector<std::string> Preparation::feature_names() const {
  std::vector<std::string> names;
  for (const PreparedColumn& column : columns_) {
    if (column.kind != PreparedColumn::Kind::one_hot) {
      names.push_back(column.name);
      continue;
    }
    for (const std::string& category : column.categories) names.push_back(column.name + "=" + category);
    names.push_back(column.name + "=(unseen)");
  }
  return names;
}

std::vector<ArraySpec> Preparation::inputs(DType type) const {
  return {table_features(type, feature_count())};
}

std::int64_t Preparation::feature_count() const {
  return std::accumulate(columns_.begin(), columns_.end(), std::int64_t{0},
                         [](std::int64_t sum, const PreparedColumn& column) { return sum + column.width(); });
}

}  // namespace stoker
