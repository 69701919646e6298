#include "data/feature_columns.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/text.h"
#include "data/column_values.h"
#include "data/date_columns.h"
#include "data/target_column.h"

namespace stoker {
namespace {

constexpr std::size_t fewest_rows_of_an_identifier = 20;  // below, whole numbers are consecutive by chance

std::vector<std::string> wanted_columns(const Table& training, const PreparationConfig& config,
                                        const Notes& notes) {
  if (config.feature_columns.empty()) {
    std::vector<std::string> names = training.column_names();
    std::erase(names, config.target_column);
    std::erase(names, config.weight_column);
    // What tells groups apart says nothing about rows of groups to come.
    if (!training.group_column.empty() && std::erase(names, training.group_column) > 0) {
      notes(Severity::info, fmt::format("column '{}' is left out: it is the group_column of the split; name "
                                        "it in feature_columns to keep it",
                                        training.group_column));
    }
    if (names.empty())
      refuse("the table has no column to predict from besides target_column '{}'", config.target_column);
    return names;
  }
  std::unordered_set<std::string> seen;
  for (const std::string& name : config.feature_columns) {
    column_position(training, name);
    if (name == config.target_column) refuse("feature_columns names the target_column '{}'", name);
    if (!seen.insert(name).second) refuse("feature_columns names '{}' twice", name);
  }
  return config.feature_columns;
}

// Numbers a row: all different, and so close together that nothing but counting makes them. A split takes
// rows out of the sequence, so up to half of it may be missing. May sort them.
bool looks_counted(std::vector<double>& numbers) {
  if (numbers.size() < fewest_rows_of_an_identifier) return false;
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  if (*high - *low + 1 > 2 * static_cast<double>(numbers.size())) return false;
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

// Puts the numbers into another order.
double median(std::vector<double>& numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2 == 1) return *middle;
  return std::midpoint(*middle, *std::max_element(numbers.begin(), middle));
}

double fill_for(std::vector<double>& present, ColumnKind kind) {
  if (kind != ColumnKind::boolean) return median(present);
  const auto ones = static_cast<std::size_t>(std::count(present.begin(), present.end(), 1.0));
  return 2 * ones > present.size() ? 1 : 0;
}

class Learner {
 public:
  Learner(const Table& training, const PreparationConfig& config, Scaling scaling, const Notes& notes)
      : training_(training), config_(config), scaling_(scaling), notes_(notes) {}

  std::vector<PreparedColumn> learn() {
    for (const std::string& name : wanted_columns(training_, config_, notes_)) learn_column(name);
    if (!refused_.empty()) {
      refuse("missing values in {}, which missing_values: refuse does not allow", join(refused_, ", "));
    }
    // Better counted numbers than nothing to predict from.
    if (columns_.empty()) columns_ = std::move(counted_);
    for (const PreparedColumn& column : counted_) leave_out(column.name, "its values only number the rows");
    if (columns_.empty())
      refuse("no column is left to predict from: name the columns to use in feature_columns");
    for (PreparedColumn& column : columns_) column.date_form = date_form_of(training_, column.name);
    return std::move(columns_);
  }

 private:
  void learn_column(const std::string& name) {
    const auto values = training_.column(name);
    const ColumnKind kind = kind_of(*values->type());
    if (kind == ColumnKind::unsupported) {
      if (named()) {
        refuse("column '{}' has type {}, which cannot be converted to numbers", name,
               values->type()->ToString());
      }
      leave_out(name, fmt::format("its type {} cannot be converted to numbers", values->type()->ToString()));
    } else if (kind == ColumnKind::text) {
      const TextValues texts = read_texts(values);
      const auto missing = std::count(texts.missing.begin(), texts.missing.end(), 1);
      if (is_usable(name, missing)) learn_text(name, texts, missing);
    } else {
      std::vector<double> numbers = read_numbers(*values);
      const auto missing =
          std::count_if(numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); });
      if (is_usable(name, missing)) learn_numbers(name, std::move(numbers), kind, missing);
    }
  }

  bool is_usable(const std::string& name, std::int64_t missing) {
    if (missing > 0 && config_.missing_values == Missing::refuse) {
      refused_.push_back(fmt::format("'{}' ({} of {} rows)", name, missing, training_.rows()));
      return false;
    }
    if (missing == training_.rows()) leave_out(name, "all its values are missing");
    return missing < training_.rows();
  }

  void learn_numbers(const std::string& name, std::vector<double> numbers, ColumnKind kind,
                     std::int64_t missing) {
    const auto infinite =
        std::find_if(numbers.begin(), numbers.end(), [](double x) { return std::isinf(x); });
    if (infinite != numbers.end()) {
      refuse(
          "column '{}' is infinite in row {}: correct the value, or leave the column out by naming the "
          "others in "
          "feature_columns",
          name, training_.row_number(infinite - numbers.begin()));
    }
    PreparedColumn column;
    column.name = name;
    if (missing > 0) {
      std::vector<double> present;
      std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(present),
                   [](double x) { return !std::isnan(x); });
      column.fill = fill_for(present, kind);
      note_fill(name, missing,
                fmt::format("the {} {}", kind == ColumnKind::boolean ? "most frequent value" : "median",
                            number_text(column.fill)));
      std::replace_if(
          numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); }, column.fill);
    }
    if (kind == ColumnKind::time) {
      notes_(Severity::info,
             fmt::format("column '{}' contains dates or times, which are used as seconds", name));
    }
    set_scale(column, numbers);
    // From here on their order is of no account.
    const bool counted = kind == ColumnKind::integer && !named() && missing == 0 && looks_counted(numbers);
    if (missing == 0) column.fill = fill_for(numbers, kind);
    (counted ? counted_ : columns_).push_back(std::move(column));
  }

  void learn_text(const std::string& name, const TextValues& texts, std::int64_t missing) {
    std::unordered_map<std::string_view, std::int64_t> counts;
    for (std::size_t row = 0; row < texts.values.size(); ++row) {
      if (texts.missing[row] == 0) ++counts[texts.values[row]];
    }
    if (!named() && counts.size() == texts.values.size() && counts.size() > 1) {
      return leave_out(name, "every row has a different value, like an identifier");
    }
    PreparedColumn column;
    column.name = name;
    for (const auto& [value, count] : counts) column.categories.emplace_back(value);
    std::sort(column.categories.begin(), column.categories.end());
    column.fill_text = *std::max_element(column.categories.begin(), column.categories.end(),
                                         [&](const auto& a, const auto& b) { return counts[a] < counts[b]; });
    if (missing > 0) note_fill(name, missing, fmt::format("the most frequent value '{}'", column.fill_text));
    const bool many = static_cast<std::int64_t>(counts.size()) > config_.max_categories;
    const bool ordinal = config_.categorical_encoding == Encoding::ordinal || many;
    column.kind = ordinal ? PreparedColumn::Kind::ordinal : PreparedColumn::Kind::one_hot;
    if (many && config_.categorical_encoding != Encoding::ordinal) {
      notes_(Severity::info,
             fmt::format("column '{}' has {} different values, more than max_categories {}: encoded as "
                         "ordinal",
                         name, counts.size(), config_.max_categories));
    }
    if (ordinal) set_scale(column, ordinals(column, texts));
    columns_.push_back(std::move(column));
  }

  static std::vector<double> ordinals(const PreparedColumn& column, const TextValues& texts) {
    std::unordered_map<std::string_view, double> slot;
    for (const std::string& category : column.categories)
      slot.emplace(category, static_cast<double>(slot.size()));
    std::vector<double> numbers;
    for (std::size_t row = 0; row < texts.values.size(); ++row) {
      numbers.push_back(slot.at(texts.missing[row] != 0 ? column.fill_text : texts.values[row]));
    }
    return numbers;
  }

  void set_scale(PreparedColumn& column, const std::vector<double>& numbers) const {
    if (scaling_ == Scaling::minmax) {
      const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
      column.shift = *low;
      column.scale = *high > *low ? *high - *low : 1;
    } else if (scaling_ == Scaling::standard) {
      const MeanAndScale found = mean_and_scale(numbers);
      column.shift = found.mean;
      column.scale = found.scale;
    }
    if (!std::isfinite(column.shift) || !std::isfinite(column.scale)) {
      refuse("column '{}' has values too large to scale", column.name);
    }
  }

  bool named() const { return !config_.feature_columns.empty(); }
  void leave_out(const std::string& name, const std::string& reason) const {
    notes_(Severity::warning, fmt::format("column '{}' is left out: {}", name, reason));
  }
  void note_fill(const std::string& name, std::int64_t missing, const std::string& filled) const {
    notes_(Severity::info, fmt::format("column '{}': {} of {} values {} missing, filled with {}", name,
                                       missing, training_.rows(), missing == 1 ? "is" : "are", filled));
  }

  const Table& training_;
  const PreparationConfig& config_;
  Scaling scaling_;
  const Notes& notes_;
  std::vector<PreparedColumn> columns_;
  std::vector<PreparedColumn> counted_;  // whole numbers that only number the rows
  std::vector<std::string> refused_;
};

}  // namespace

std::vector<PreparedColumn> learn_columns(const Table& training, const PreparationConfig& config,
                                          Scaling scaling, const Notes& notes) {
  return Learner(training, config, scaling, notes).learn();
}

}  // namespace stoker
