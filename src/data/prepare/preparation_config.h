#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "data/target/class_weights.h"

namespace stoker {

enum class Task { regression, binary, multiclass };
enum class TaskChoice { automatic, regression, binary, multiclass };
enum class Missing { impute, indicate, refuse };
enum class Encoding { one_hot, ordinal, embedding, target };
enum class Scaling { automatic, standard, minmax, robust, quantile, none };
enum class RelativeTo { none, last, automatic };

// What a family of models makes of a table's columns.
struct InputForm {
  InputForm(Scaling meant_by_auto) : scaling(meant_by_auto) {}
  Scaling scaling;                 // what `scaling: auto` means to it
  bool numbers_apart = false;      // reads numbers as an array of their own, which it embeds
  bool embeds_categories = false;  // reads numbers of categories, of which it learns what they stand for
  bool reads_windows = false;      // of a series: the rows of a window one behind the other
  bool reads_cubes = false;        // hyperspectral ones, which go with the rows
  bool takes_odd_pixels = false;   // of cubes: those with a value that is no finite number
  // Above 0: reads sets, and has room for so many members; a column of arrays holds a set in each row.
  std::int64_t members_of_set = 0;
  bool one_target_scale =
      false;  // the numbers that it predicts for a row are of one kind, and share a variance
};

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::Task>{"regression", "binary",
                                                                                     "multiclass"};
template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::TaskChoice>{
    "auto", "regression", "binary", "multiclass"};
template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::Missing>{"impute", "indicate",
                                                                                        "refuse"};
template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::Encoding>{
    "one_hot", "ordinal", "embedding", "target"};
template <>
inline constexpr std::array<std::string_view, 6> stoker::config::names<stoker::Scaling>{
    "auto", "standard", "minmax", "robust", "quantile", "none"};
template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::RelativeTo>{"none", "last",
                                                                                           "auto"};

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
  RelativeTo relative_to = RelativeTo::none;
  std::string mask_column;    // of a set; empty: members are absent where all their values are missing
  std::string weight_column;  // empty: all rows weigh the same
  ClassWeighting class_weights;
  // No setting: all classes that may come up, where the rows that are trained on need not have each of them;
  // empty: those that they have.
  std::vector<std::string> classes = {};
};

inline config::Fields fields(PreparationConfig& c) {
  config::Fields all{
      config::field("target_column", c.target_column,
                    "Column to predict, or an array of numbers, which stands in columns NAME_0, NAME_1, …")
          .required()
          .not_empty()
          .changes_conditions(),
      config::field("feature_columns", c.feature_columns,
                    "Columns to predict from; empty: all others. Models that read sets: the array, which "
                    "stands in columns NAME_0_0, NAME_0_1, …; empty: the only one that there is"),
      config::field(
          "task", c.task,
          "What is predicted; auto: classes for text, for booleans and for whole numbers with at most 20 "
          "different values (and fewer than half as many as there are rows), else regression")
          .changes_conditions(),
      config::field("missing_values", c.missing_values,
                    "impute: median for numbers, most frequent value for text; indicate: the same, with a "
                    "column of its own that says where values are missing; refuse: an error that names the "
                    "columns"),
      config::field(
          "categorical_encoding", c.categorical_encoding,
          "How text columns become numbers. embedding: a network learns a few numbers for each value. "
          "target: the mean of the target (or the share of each class) in the rows of each value, drawn "
          "towards the overall mean where those are few. Values that training has not seen, or only once, "
          "are treated alike"),
      config::field(
          "max_categories", c.max_categories,
          "A text column with more values than this is embedded by networks that can, and encoded as "
          "target otherwise")
          .within(1, 100'000),
      config::field(
          "scaling", c.scaling,
          "Fitted on training rows only. robust: median and quartiles, with values far out drawn "
          "nearer; quantile: to a normal distribution by rank; auto: standard for networks, none for "
          "linear models. A target of numbers is scaled by mean and deviation unless this is none")
          .changes_loss(),
      config::field(
          "scale_target", c.scale_target,
          "Whether scaling applies to a numeric target too; without it, a penalty and a loss are in "
          "the target's own unit")
          .changes_loss(),
      config::field(
          "relative_to", c.relative_to,
          "Windows of a series with a numeric target (answer ahead or path). last: the model learns the "
          "difference to the last known value of target_column; predictions keep the target's unit. auto: "
          "none if training targets are no nearer to that value than to their mean, else last or none, "
          "whichever has the lower RMSE on the latest fifth of the training rows after short trainings")
          .changes_loss(),
      config::field("mask_column", c.mask_column,
                    "Models that read sets: array of one number for each member of the set, 0 where it is "
                    "absent; empty: a member is absent where all its values are missing"),
      config::field("weight_column", c.weight_column,
                    "Column that says how much each row counts in the loss; not a feature unless "
                    "feature_columns names it; empty: all rows count the same")
          .changes_loss(),
  };
  for (config::Field& each : fields(c.class_weights)) all.push_back(std::move(each).changes_loss());
  return all;
}

// What a model is told of a date or time.
enum class DatePart : std::uint8_t {
  none,  // the column holds no dates, or is used as seconds
  days,  // elapsed since 1970
  year,
  year_sine,  // where in its year a day lies, as a point on a circle
  year_cosine,
  week_sine,
  week_cosine,
  day_sine,
  day_cosine,
};

// How a number becomes one that a model reads.
struct ColumnScale {
  enum class Curve : std::uint8_t {
    straight,
    clipped,
    quantile,
    // 0 whatever comes: training rows had one value, so nothing was learnt of what another one means. A
    // network would else multiply it by weights that are as they began.
    constant,
  };
  double shift = 0;  // a number x becomes (x - shift) / scale
  double scale = 1;
  Curve curve = Curve::straight;
  std::vector<double> quantiles;  // of the training rows, ascending; of other curves the two ends, or none
};

// What the target is like in the rows of each category of a text: its mean, or the share of a class.
struct TargetStatistic : ColumnScale {
  std::int64_t of_class = 0;  // where there are classes: the number of the one whose share it is
  double smoothing = 0;       // the overall mean counts as much as so many rows of a category
  std::vector<double> means;  // of each category and, last, of all rows, which stands for unseen values
};

// One column of the table and how it becomes columns of numbers. A date or a missing value can make several
// of one column.
struct PreparedColumn : ColumnScale {
  enum class Kind : std::uint8_t {
    number,
    one_hot,
    ordinal,
    embedded,  // the number of its category, in an array of such
    missing,   // 1 where the value is missing
    target,    // statistics of the target in the rows of its category
  };
  std::string name;
  Kind kind = Kind::number;
  DatePart part = DatePart::none;
  bool is_apart = false;                // in the array of numbers that a network embeds
  bool held_numbers = false;            // and no dates or times; models of earlier versions do not say
  double fill = 0;                      // imputed for a missing number
  std::string fill_text;                // imputed for a missing text
  std::string date_form;                // in which a column of dates was written; empty: as the file has it
  std::vector<std::string> categories;  // sorted; unseen and rare values get slot categories.size()
  // Where every category was frequent: what an unseen value becomes instead of a slot that nothing was learnt
  // for, the share of each category in the training rows.
  std::vector<double> shares;
  std::vector<TargetStatistic> statistics;  // of Kind::target, a column each

  bool is_text() const { return kind != Kind::number && kind != Kind::missing; }
  bool held_dates() const { return part != DatePart::none || !date_form.empty(); }
  // Columns that it takes among the features that stand as they are.
  std::int64_t width() const {
    if (kind == Kind::embedded || is_apart) return 0;
    if (kind == Kind::target) return static_cast<std::int64_t>(statistics.size());
    return kind == Kind::one_hot ? static_cast<std::int64_t>(categories.size() + (shares.empty() ? 1 : 0))
                                 : 1;
  }
};

}  // namespace stoker
