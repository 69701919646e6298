#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/notes.h"
#include "data/prepare/preparation_config.h"
#include "data/table/table.h"

namespace stoker {

// What training rows say about the column to predict.
struct LearntTarget {
  Task task = Task::regression;
  std::vector<std::string> classes;
  // One of each, or of an array of numbers one for each of them.
  std::vector<double> shifts = {0};
  std::vector<double> scales = {1};
};
LearntTarget learn_target(const Table& training, const PreparationConfig& config, Scaling scaling,
                          const Notes& notes);

// Refuses a text, missing or infinite target, with its row. Of a path of several steps: those of each row
// behind each other.
std::vector<double> target_numbers(const Table& table, const std::string& column);
// Refuses missing values and those that are none of the classes, with their row.
std::vector<std::int64_t> target_class_numbers(const Table& table, const std::string& column,
                                               const std::vector<std::string>& classes);

// The same for rows that nothing is learnt from, where a class that training did not have is no error: such
// classes are counted on behind the known ones, in the order of their first rows.
struct MetClasses {
  struct Unseen {
    std::string name;
    std::int64_t rows = 0;
  };
  std::vector<std::int64_t> numbers;
  std::vector<Unseen> unseen;
};
MetClasses meet_classes(const Table& table, const std::string& column,
                        const std::vector<std::string>& classes);

// NaN where the target is missing, infinite or no number; of a path as target_numbers().
std::vector<double> target_numbers_or_nan(const Table& table, const std::string& column);
// 1 where it is missing.
std::vector<std::uint8_t> missing_targets(const Table& table, const std::string& column);
// "the value is missing in 8 of 406 rows, first in rows 11, 12, 13, 14, 15"; "" if none is missing, or if
// the column has no values that a target can have.
std::string text_of_missing_targets(const Table& table, const std::string& column);

// Refuses, before time is spent on a training, rows to test with whose target cannot be compared, and none.
void refuse_unusable_targets(const Table& test, const Table& training, const PreparationConfig& config);

// Mean and standard deviation over the rows (divided by their number, as scikit-learn's StandardScaler does);
// the scale of a constant column is 1.
struct MeanAndScale {
  double mean = 0;
  double scale = 1;
};
MeanAndScale mean_and_scale(const std::vector<double>& values);

}  // namespace stoker
