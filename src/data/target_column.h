#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/notes.h"
#include "data/preparation.h"
#include "data/table.h"

namespace stoker {

// What training rows say about the column to predict.
struct LearntTarget {
  Task task = Task::regression;
  std::vector<std::string> classes;
  double shift = 0;
  double scale = 1;
};
LearntTarget learn_target(const Table& training, const PreparationConfig& config, Scaling scaling,
                          const Notes& notes);

// Refuses a text, missing or infinite target, with its row.
std::vector<double> target_numbers(const Table& table, const std::string& column);
// Refuses missing values and those that are none of the classes, with their row.
std::vector<std::int64_t> target_class_numbers(const Table& table, const std::string& column,
                                               const std::vector<std::string>& classes);

// Mean and standard deviation over the rows (divided by their number, as scikit-learn's StandardScaler does);
// the scale of a constant column is 1.
struct MeanAndScale {
  double mean = 0;
  double scale = 1;
};
MeanAndScale mean_and_scale(const std::vector<double>& values);

}  // namespace stoker
