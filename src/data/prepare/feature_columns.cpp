#include "data/prepare/feature_columns.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/dates/date_columns.h"
#include "data/dates/date_parts.h"
#include "data/prepare/column_scale.h"
#include "data/prepare/ranked_numbers.h"
#include "data/prepare/set_columns.h"
#include "data/table/array_columns.h"
#include "data/table/column_values.h"
#include "data/table/row_numbers.h"
#include "data/target/target_column.h"
#include "data/windows/windows.h"
#include "device/row_memory.h"
#include "device/workers.h"

namespace stoker {
namespace {

constexpr std::int64_t fewest_rows_of_a_category = 2;
constexpr std::int64_t fewest_rows_for_rarity = 100;  // in a smaller table a single row is much

std::vector<std::string> wanted_columns(const Table& training, const PreparationConfig& config,
                                        const Notes& notes) {
  if (config.feature_columns.empty()) {
    std::vector<std::string> names = training.column_names();
    for (const std::string& part : target_parts(training, config.target_column)) std::erase(names, part);
    std::erase(names, config.weight_column);
    for (const std::string& part : array_parts(training, config.mask_column)) std::erase(names, part);
    // Of rows made of series: what a window knows of its time and group stands in its columns of the past.
    if (training.windows) {
      std::erase(names, training.windows->config.time_column);
      std::erase(names, training.windows->config.group_column);
    }
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
  const std::vector<std::string> answers =
      training.windows ? std::vector{config.target_column} : target_parts(training, config.target_column);
  for (const std::string& name : config.feature_columns) {
    column_position(training, name);
    if (std::ranges::find(answers, name) != answers.end())
      refuse_setting("feature_columns", "feature_columns names the target_column '{}'", name);
    if (!seen.insert(name).second)
      refuse_setting("feature_columns", "feature_columns names '{}' twice", name);
  }
  return config.feature_columns;
}

// As numbers: classes by their order.
std::vector<double> target_by_row(const Table& training, const PreparationConfig& config) {
  const auto column = training.column(target_parts(training, config.target_column).front());
  if (is_numeric(kind_of(*column->type()))) return target_numbers_or_nan(training, config.target_column);
  const TextValues texts = read_texts(column);
  const std::set<std::string_view> distinct(texts.values.begin(), texts.values.end());
  std::unordered_map<std::string_view, double> number_of;
  for (const std::string_view each : distinct) number_of.emplace(each, static_cast<double>(number_of.size()));
  std::vector<double> numbers;
  for (const std::string_view each : texts.values) numbers.push_back(number_of.at(each));
  return numbers;
}

bool has_more_than_two(const std::vector<double>& numbers) {
  const double first = numbers.front();
  const auto second = std::find_if(numbers.begin(), numbers.end(), [&](double x) { return x != first; });
  return std::any_of(second, numbers.end(), [&](double x) { return x != first && x != *second; });
}

double fill_for(const std::vector<double>& present, ColumnKind kind) {
  if (kind != ColumnKind::boolean) return median_of(present);
  const auto ones = static_cast<std::size_t>(std::count(present.begin(), present.end(), 1.0));
  return 2 * ones > present.size() ? 1 : 0;
}

// What was learnt of one column of the table, to be joined with the others in the order of the table.
struct LearntColumn {
  std::vector<PreparedColumn> columns;
  std::vector<PreparedColumn> counted;  // whole numbers that only number the rows
  std::string refused;                  // missing values that are not allowed
  bool is_filled = false;               // in windows of a series, missing values
  std::vector<std::pair<Severity, std::string>> notes;
  std::exception_ptr error;
};

std::string left_out_because(const std::string& name, const std::string& reason) {
  return fmt::format("column '{}' is left out: {}", name, reason);
}

class ColumnLearner {
 public:
  ColumnLearner(const Table& training, const PreparationConfig& config, const InputForm& form)
      : training_(training), config_(config), form_(form) {}

  LearntColumn learn(const std::string& name) && {
    try {
      learn_column(name);
    } catch (...) {
      learnt_.error = std::current_exception();
    }
    return std::move(learnt_);
  }

 private:
  void learn_column(const std::string& name) {
    auto values = training_.column(name);
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
      values.reset();  // one that comes from a file is not needed twice
      const auto missing =
          std::count_if(numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); });
      if (is_usable(name, missing)) learn_numbers(name, std::move(numbers), kind, missing);
    }
  }

  bool is_usable(const std::string& name, std::int64_t missing) {
    if (missing > 0 && config_.missing_values == Missing::refuse) {
      learnt_.refused = fmt::format("'{}' ({} of {} rows)", name, missing, training_.rows());
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
          name, row_number_in(training_, infinite - numbers.begin(), name));
    }
    PreparedColumn column;
    column.name = name;
    column.held_numbers = kind != ColumnKind::time;
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
    if (kind == ColumnKind::time && holds_dates(*training_.column(name)->type())) {
      learn_dates(column, numbers, missing > 0);
    } else {
      if (kind == ColumnKind::time)
        note(Severity::info, fmt::format("column '{}' contains times, which are used as seconds", name));
      learn_scale(column, numbers, form_.scaling);
      learn_range(column, numbers);
      column.is_apart = form_.numbers_apart && has_more_than_two(numbers);
      // In a series, what counts along with time may well be what it is about.
      const bool may_be_number = kind == ColumnKind::integer && !named() && !form_.reads_windows;
      const bool counted = may_be_number && missing == 0 && only_numbers_rows(name, numbers);
      if (missing == 0) column.fill = fill_for(numbers, kind);
      (counted ? learnt_.counted : learnt_.columns).push_back(std::move(column));
    }
    indicate(name, missing);
  }

  bool only_numbers_rows(const std::string& name, const std::vector<double>& numbers) {
    if (!look_counted(numbers)) return false;
    if (!tell_of_target(numbers, target_by_row(training_, config_))) return true;
    note(Severity::info, fmt::format("column '{}' numbers the rows, but the target changes along with it, so "
                                     "it is kept; if it is an identifier, name the other columns in "
                                     "feature_columns",
                                     name));
    return false;
  }

  // Each part is a column of its own.
  void learn_dates(const PreparedColumn& column, const std::vector<double>& seconds, bool is_filled) {
    const std::vector<DatePart> parts = parts_that_differ(seconds);
    for (const DatePart part : parts) {
      std::vector<double> values(seconds.size());
      std::transform(seconds.begin(), seconds.end(), values.begin(),
                     [&](double each) { return part_of_date(part, each); });
      PreparedColumn learnt = column;
      learnt.part = part;
      if (part == DatePart::days || part == DatePart::year) {
        learn_scale(learnt, values, form_.scaling);
        if (part == DatePart::days) learn_range(learnt, values);
        learnt.is_apart = form_.numbers_apart && has_more_than_two(values);
      }
      learnt_.columns.push_back(std::move(learnt));
    }
    if (is_filled) return;
    const double middle = median_of(seconds);
    for (PreparedColumn& each : learnt_.columns) each.fill = middle;
  }

  void indicate(const std::string& name, std::int64_t missing) {
    if (config_.missing_values != Missing::indicate || missing == 0) return;
    PreparedColumn column;
    column.name = name;
    column.kind = PreparedColumn::Kind::missing;
    learnt_.columns.push_back(std::move(column));
  }

  void learn_text(const std::string& name, const TextValues& texts, std::int64_t missing) {
    Counts counts;
    for (std::size_t row = 0; row < texts.values.size(); ++row) {
      if (texts.missing[row] == 0) ++counts[texts.values[row]];
    }
    if (!named() && counts.size() == texts.values.size() && counts.size() > 1) {
      return leave_out(name, "every row has a different value, like an identifier");
    }
    PreparedColumn column;
    column.name = name;
    column.kind = kind_for(name, counts.size());
    const bool shares_a_slot =
        training_.rows() >= fewest_rows_for_rarity && rare_share_a_slot(column.kind, counts);
    for (const auto& [value, count] : counts)
      if (!shares_a_slot || count >= fewest_rows_of_a_category) column.categories.emplace_back(value);
    std::sort(column.categories.begin(), column.categories.end());
    column.fill_text = *std::max_element(column.categories.begin(), column.categories.end(),
                                         [&](const auto& a, const auto& b) { return counts[a] < counts[b]; });
    if (missing > 0) note_fill(name, missing, fmt::format("the most frequent value '{}'", column.fill_text));
    if (column.kind == PreparedColumn::Kind::one_hot && column.categories.size() == counts.size())
      learn_shares(column, counts);
    if (column.kind == PreparedColumn::Kind::ordinal)
      learn_scale(column, ordinals(column, texts), form_.scaling);
    learnt_.columns.push_back(std::move(column));
    indicate(name, missing);
  }

  using Counts = std::unordered_map<std::string_view, std::int64_t>;

  PreparedColumn::Kind kind_for(const std::string& name, std::size_t categories) {
    const bool is_many = static_cast<std::int64_t>(categories) > config_.max_categories;
    if (config_.categorical_encoding == Encoding::ordinal) return PreparedColumn::Kind::ordinal;
    if (form_.reads_windows) return kind_in_series(name, categories);
    if (config_.categorical_encoding == Encoding::target) return PreparedColumn::Kind::target;
    if (form_.embeds_categories && (is_many || config_.categorical_encoding == Encoding::embedding))
      return PreparedColumn::Kind::embedded;
    if (!is_many) return PreparedColumn::Kind::one_hot;
    note(Severity::info,
         fmt::format("column '{}' has {} different values, more than max_categories {}: each becomes what "
                     "the target is on average in its rows (categorical_encoding: target)",
                     name, categories, config_.max_categories));
    return PreparedColumn::Kind::target;
  }

  // A moment of a series belongs to many windows, and has no answer of its own to be encoded by.
  PreparedColumn::Kind kind_in_series(const std::string& name, std::size_t categories) const {
    if (config_.categorical_encoding != Encoding::one_hot)
      refuse("column '{}': categorical_encoding {} is not for windows of a series; use one_hot or ordinal",
             name, config::name_of(config_.categorical_encoding));
    if (static_cast<std::int64_t>(categories) > config_.max_categories)
      refuse(
          "column '{}' has {} different texts, more than max_categories {}; leave it out of feature_columns, "
          "or set categorical_encoding to ordinal",
          name, categories, config_.max_categories);
    return PreparedColumn::Kind::one_hot;
  }

  // Values that stand in a single row have nothing that a model could learn for them alone. Where hardly any
  // other is left, they are the column; but no row has a statistic of others with its value then.
  static bool rare_share_a_slot(PreparedColumn::Kind kind, const Counts& counts) {
    if (kind == PreparedColumn::Kind::ordinal) return false;
    std::size_t rare = 0;
    for (const auto& [value, count] : counts) rare += count < fewest_rows_of_a_category ? 1 : 0;
    if (kind == PreparedColumn::Kind::target) return rare < counts.size();
    return 2 * rare <= counts.size();
  }

  static void learn_shares(PreparedColumn& column, const Counts& counts) {
    std::int64_t all = 0;
    for (const auto& [value, count] : counts) all += count;
    for (const std::string& category : column.categories)
      column.shares.push_back(static_cast<double>(counts.at(category)) / static_cast<double>(all));
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

  bool named() const { return !config_.feature_columns.empty(); }
  void note(Severity severity, std::string message) {
    learnt_.notes.emplace_back(severity, std::move(message));
  }
  void leave_out(const std::string& name, const std::string& reason) {
    note(Severity::warning, left_out_because(name, reason));
  }
  void note_fill(const std::string& name, std::int64_t missing, const std::string& filled) {
    // A value that is missing in a series is missing in the column of every lag.
    if (training_.windows && !form_.reads_windows) {
      learnt_.is_filled = true;
      return;
    }
    note(Severity::info, fmt::format("column '{}': {} of {} values {} missing, filled with {}", name, missing,
                                     training_.rows(), missing == 1 ? "is" : "are", filled));
  }

  const Table& training_;
  const PreparationConfig& config_;
  InputForm form_;
  LearntColumn learnt_;
};

// Columns that are learnt at the same time take some copies of theirs each.
int columns_at_once(std::int64_t rows) {
  constexpr std::uint64_t copies = 4;
  const std::uint64_t bytes =
      copies * sizeof(double) * static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1));
  const std::uint64_t fitting = memory_for_all_rows() / 8 / bytes;
  return static_cast<int>(
      std::clamp<std::uint64_t>(fitting, 1, static_cast<std::uint64_t>(cores_to_share())));
}

std::vector<LearntColumn> learn_each(const std::vector<std::string>& names, const Table& training,
                                     const PreparationConfig& config, const InputForm& form) {
  constexpr std::int64_t values_worth_a_thread = std::int64_t{1} << 16;
  const auto count = std::ssize(names);
  const bool is_small = training.rows() * count < values_worth_a_thread;
  std::vector<LearntColumn> learnt(names.size());
  std::atomic<std::int64_t> first_error{count};  // what comes after it is not looked at
  share_among_threads(count, is_small ? 1 : columns_at_once(training.rows()), [&](std::int64_t i) {
    if (i > first_error) return;
    LearntColumn& own = learnt[static_cast<std::size_t>(i)];
    own = ColumnLearner(training, config, form).learn(names[static_cast<std::size_t>(i)]);
    std::int64_t first = first_error;
    while (own.error && i < first && !first_error.compare_exchange_weak(first, i)) continue;
  });
  return learnt;
}

std::vector<PreparedColumn> learn_wanted(const Table& training, const PreparationConfig& config,
                                         const InputForm& form, const Notes& notes) {
  std::vector<PreparedColumn> columns;
  std::vector<PreparedColumn> counted_rows;
  std::vector<std::string> refused;
  std::size_t filled = 0;  // columns of windows that had to be
  for (LearntColumn& each : learn_each(wanted_columns(training, config, notes), training, config, form)) {
    for (const auto& [severity, message] : each.notes) notes(severity, message);
    if (each.error) std::rethrow_exception(each.error);
    std::ranges::move(each.columns, std::back_inserter(columns));
    std::ranges::move(each.counted, std::back_inserter(counted_rows));
    if (!each.refused.empty()) refused.push_back(std::move(each.refused));
    filled += each.is_filled ? 1 : 0;
  }
  if (!refused.empty())
    refuse("missing values in {}, which missing_values: refuse does not allow", join(refused, ", "));
  // Better counted numbers than nothing to predict from.
  if (columns.empty()) columns = std::move(counted_rows);
  for (const PreparedColumn& column : counted_rows)
    notes(Severity::warning, left_out_because(column.name, "its values only number the rows"));
  if (filled > 0)
    notes(Severity::info,
          fmt::format(
              "missing values in {} of the windows are filled in, each with the usual value of its column",
              counted(filled, "column")));
  if (columns.empty())
    refuse("no column is left to predict from: name the columns to use in feature_columns");
  for (PreparedColumn& column : columns) column.date_form = date_form_of(training, column.name);
  return columns;
}

}  // namespace

std::vector<std::string> choose_features(const Table& training, const PreparationConfig& config,
                                         const InputForm& wanted, const Notes& notes) {
  if (!config.feature_columns.empty()) return config.feature_columns;
  if (wanted.members_of_set > 0) return {find_set(training, config, wanted).members};
  const Notes what_is_left_out = [&](Severity severity, const std::string& message) {
    if (severity == Severity::warning) notes(severity, message);
  };
  std::vector<std::string> names;
  InputForm form = Scaling::none;
  form.reads_windows = has_windows(training);
  for (const PreparedColumn& column : learn_columns(training, config, form, what_is_left_out))
    if (names.empty() || names.back() != column.name) names.push_back(column.name);
  return names;
}

std::vector<PreparedColumn> learn_columns(const Table& training, const PreparationConfig& config,
                                          const InputForm& form, const Notes& notes) {
  if (form.members_of_set > 0)
    return learn_set(training, find_set(training, config, form), config, form.scaling, notes);
  if (!form.reads_windows) return learn_wanted(training, config, form, notes);
  // By the moments that windows show of the series, not by what comes after them. The target's own past is
  // a feature like any other.
  PreparationConfig of_series = config;
  of_series.target_column = "";
  const Table moments = covered_moments(training).moments;
  return learn_wanted(moments, of_series, form, notes);
}

}  // namespace stoker
