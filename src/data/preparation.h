#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/notes.h"
#include "config/field.h"
#include "data/dataset.h"
#include "data/table.h"

namespace stoker {

enum class Task { regression, binary, multiclass };
enum class TaskChoice { automatic, regression, binary, multiclass };
enum class Missing { impute, refuse };
enum class Encoding { one_hot, ordinal };
enum class Scaling { automatic, standard, minmax, none };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::Task>{"regression", "binary",
                                                                                     "multiclass"};
template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::TaskChoice>{
    "auto", "regression", "binary", "multiclass"};
template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::Missing>{"impute", "refuse"};
template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::Encoding>{"one_hot",
                                                                                         "ordinal"};
template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::Scaling>{"auto", "standard",
                                                                                        "minmax", "none"};

namespace stoker {

struct PreparationConfig {
  std::string target_column;
  std::vector<std::string> feature_columns;  // empty: every column but the target
  TaskChoice task = TaskChoice::automatic;
  Missing missing_values = Missing::impute;
  Encoding categorical_encoding = Encoding::one_hot;
  std::int64_t max_categories = 100;
  Scaling scaling = Scaling::automatic;
  std::string weight_column;  // empty: all rows weigh the same
};

inline config::Fields fields(PreparationConfig& c) {
  return {
      config::field("target_column", c.target_column, "Column to predict").required().not_empty(),
      config::field("feature_columns", c.feature_columns, "Columns to predict from; empty: all others"),
      config::field(
          "task", c.task,
          "What is predicted; auto: classes for text, for booleans and for whole numbers with at most 20 "
          "different values (and fewer than half as many as there are rows), else regression"),
      config::field("missing_values", c.missing_values,
                    "impute: median for numbers, most frequent value for text; refuse: an error that names "
                    "the columns"),
      config::field("categorical_encoding", c.categorical_encoding,
                    "How text columns become numbers; values unseen in training get a slot of their own"),
      config::field("max_categories", c.max_categories,
                    "A text column with more values than this is encoded as ordinal")
          .within(1, 100'000),
      config::field("scaling", c.scaling,
                    "Fitted on training rows only; auto: standard for networks, none for linear models"),
      config::field(
          "weight_column", c.weight_column,
          "Column that says how much each row counts in the loss of a network; no feature unless it is "
          "named; empty: all the same"),
  };
}

// One column of the table and how it becomes columns of numbers.
struct PreparedColumn {
  enum class Kind { number, one_hot, ordinal };
  std::string name;
  Kind kind = Kind::number;
  double fill = 0;        // imputed for a missing number
  std::string fill_text;  // imputed for a missing text
  double shift = 0;       // a number x becomes (x - shift) / scale
  double scale = 1;
  std::vector<std::string> categories;  // sorted; unseen values get slot categories.size()
  std::int64_t width() const {
    return kind == Kind::one_hot ? static_cast<std::int64_t>(categories.size()) + 1 : 1;
  }
};

// Learnt from training rows, applied to any rows, inverted for targets. Part of the model folder.
class Preparation {
 public:
  // `default_scaling` is what scaling: auto means to the caller. Reports what was imputed and left out.
  static Preparation fit(const Table& training, const PreparationConfig& config, Scaling default_scaling,
                         const Notes& notes);

  // Features as [rows, feature_count()] of float32 or float64; refuses a table without a needed column,
  // naming it. With targets: [rows, 1] of the same type, scaled, for regression; [rows] int64 for classes.
  Dataset apply(const Table& table, DType type, bool with_targets) const;

  // Targets in real units (regression) as they stand in the table; refuses missing and infinite ones.
  std::vector<double> real_targets(const Table& table) const;
  // Class numbers of the target column; refuses missing ones and classes that training did not have.
  std::vector<std::int64_t> class_targets(const Table& table) const;

  Task task() const { return task_; }
  const std::string& target_column() const { return target_column_; }
  // As text, sorted (by number where all are numbers); empty for regression.
  const std::vector<std::string>& classes() const { return classes_; }
  const std::vector<PreparedColumn>& columns() const { return columns_; }
  std::vector<std::string> text_columns() const;   // those learnt as texts, for Source::read
  std::vector<std::string> feature_names() const;  // one per prepared column of numbers
  std::int64_t feature_count() const;
  double target_shift() const { return target_shift_; }
  double target_scale() const { return target_scale_; }

  nlohmann::json to_json() const;
  static Preparation from_json(const nlohmann::json& json);  // refuses what is not one

 private:
  Task task_ = Task::regression;
  Missing missing_values_ = Missing::impute;  // what apply does with them
  std::string target_column_;
  std::vector<std::string> classes_;
  std::vector<PreparedColumn> columns_;
  double target_shift_ = 0;
  double target_scale_ = 1;
};

}  // namespace stoker
