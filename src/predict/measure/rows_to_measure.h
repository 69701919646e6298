#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/placement/dataset.h"
#include "model/model.h"
#include "predict/measure/metrics.h"
#include "predict/rows/predictions.h"

namespace stoker {

// Of targets of classes as engines take them: one number a row, or 0 and 1 in a column of floats.
std::vector<std::int64_t> class_numbers(const Array& targets);

// Rows that are prepared already, with their targets: what a training validates on, measured again and again
// while it goes on.
class RowsToMeasure {
 public:
  // The parameters of the model come with each measurement. The data lies in the host's memory.
  RowsToMeasure(Model model, Dataset data);

  Task task() const { return model_.preparation.task(); }
  // The name of a class that no row has.
  std::optional<std::string> absent_class() const;
  // Of each row, its number; none of a regression.
  const std::vector<std::int64_t>& classes() const { return classes_; }
  // Of classes, with all their probabilities.
  Predictions predict(NamedArrays parameters);
  // Not a number where the predictions are none.
  double measure(const Metric& metric, NamedArrays parameters);

 private:
  Model model_;
  Dataset data_;
  std::vector<double> actual_;  // in real units
  std::vector<std::int64_t> classes_;
};

}  // namespace stoker
