#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"

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
  bool scale_target = true;
  std::string weight_column;  // empty: all rows weigh the same
};

inline config::Fields fields(PreparationConfig& c) {
  return {
      config::field("target_column", c.target_column, "Column to predict")
          .required()
          .not_empty()
          .changes_conditions(),
      config::field("feature_columns", c.feature_columns, "Columns to predict from; empty: all others"),
      config::field(
          "task", c.task,
          "What is predicted; auto: classes for text, for booleans and for whole numbers with at most 20 "
          "different values (and fewer than half as many as there are rows), else regression")
          .changes_conditions(),
      config::field("missing_values", c.missing_values,
                    "impute: median for numbers, most frequent value for text; refuse: an error that names "
                    "the columns"),
      config::field("categorical_encoding", c.categorical_encoding,
                    "How text columns become numbers; values unseen in training get a slot of their own"),
      config::field("max_categories", c.max_categories,
                    "A text column with more values than this is encoded as ordinal")
          .within(1, 100'000),
      config::field("scaling", c.scaling,
                    "Fitted on training rows only; auto: standard for networks, none for linear models")
          .changes_loss(),
      config::field(
          "scale_target", c.scale_target,
          "Whether scaling applies to a numeric target too; without it, a penalty and a loss are in "
          "the target's own unit")
          .changes_loss(),
      config::field("weight_column", c.weight_column,
                    "Column that says how much each row counts in the loss; not a feature unless "
                    "feature_columns names it; empty: all rows count the same")
          .changes_loss(),
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

}  // namespace stoker
