#include "data/split/series_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/dates/date_form.h"
#include "data/memory/arrow_result.h"
#include "data/table/column_values.h"
#include "data/table/value_rows.h"
#include "data/table/whole_times.h"

namespace stoker {
namespace {

// A step longer than so many usual ones is a gap: more than a weekend or a holiday between working days.
constexpr double usual_steps_of_a_gap = 5;

// Times as whole numbers that compare as the times do. Those of a clock finer than a double can tell apart
// stay what they are.
struct Times {
  std::vector<std::int64_t> keys;
  bool are_reals = false;
  double unit = 1;  // of a key that is none of a real number; in seconds where `are_dates`
  bool are_dates = false;

  double value(std::int64_t key) const {
    if (!are_reals) return static_cast<double>(key) * unit;
    return std::bit_cast<double>(key < 0 ? key ^ std::numeric_limits<std::int64_t>::max() : key);
  }
};

std::int64_t key_of(double time) {
  const auto bits = std::bit_cast<std::int64_t>(time + 0.0);  // of -0 that of 0
  return bits < 0 ? bits ^ std::numeric_limits<std::int64_t>::max() : bits;
}

struct FormOfTimes {
  std::string name;
  std::function<bool(std::string_view)> fits;
};

// The form that most of the first values have: one of the usual forms of dates, or numbers. None if fewer
// than half have the same.
std::optional<FormOfTimes> form_of_most(const TextValues& texts) {
  constexpr std::size_t most_looked_at = 1'000;
  std::vector<FormOfTimes> forms{
      {"a number", [](std::string_view text) { return number_in(text).has_value(); }}};
  for (const DateForm& form : usual_date_forms())
    forms.push_back({form.text(), [&form](std::string_view text) { return form.parse(text).has_value(); }});
  const std::size_t looked_at = std::min(texts.values.size(), most_looked_at);
  const FormOfTimes* best = nullptr;
  std::ptrdiff_t most = 0;
  for (const FormOfTimes& each : forms) {
    const auto count = std::count_if(
        texts.values.begin(), texts.values.begin() + static_cast<std::ptrdiff_t>(looked_at), each.fits);
    if (count <= most) continue;
    most = count;
    best = &each;
  }
  if (best == nullptr || 2 * static_cast<std::size_t>(most) < looked_at) return std::nullopt;
  return *best;
}

// One wrong time among good ones makes a column of text.
void refuse_time_unlike_others(const Table& table, const TextValues& texts, const std::string& name) {
  const auto form = form_of_most(texts);
  if (!form) return;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    if (texts.missing[row] != 0 || form->fits(texts.values[row])) continue;
    refuse_setting(
        "time_column",
        "time_column '{}': '{}' in row {} is no time like the others, which have the form {}; correct "
        "it or remove the row",
        name, shortened(texts.values[row]), table.row_number(static_cast<std::int64_t>(row)), form->name);
  }
}

void refuse_strange_times(const Table& table, const arrow::ChunkedArray& column, const std::string& name) {
  const ColumnKind kind = kind_of(*column.type());
  if (kind == ColumnKind::text) {
    const TextValues texts = read_texts(table.column(name));
    refuse_time_unlike_others(table, texts, name);
    refuse_setting(
        "time_column",
        "time_column '{}' contains text, such as '{}'; give the form of its dates in date_columns of "
        "data_load, for example {{{}: '%d/%m/%Y'}} (--date-columns '{}=%d/%m/%Y')",
        name, texts.values.empty() ? "" : shortened(texts.values.front()), name, name);
  }
  if (kind != ColumnKind::integer && kind != ColumnKind::real && kind != ColumnKind::time)
    refuse_setting("time_column", "time_column '{}' contains {}, not times or numbers", name,
                   column.type()->ToString());
  if (count_missing(column) == 0) return;
  std::vector<double> numbers = read_numbers(column);
  const auto missing = std::ranges::find_if(numbers, [](double each) { return std::isnan(each); });
  refuse_setting("time_column",
                 "time_column '{}': the time in row {} is missing; remove the rows without a time", name,
                 table.row_number(missing - numbers.begin()));
}

Times times_of(const Table& table, const std::string& name) {
  const auto column = table.column(name);
  refuse_strange_times(table, *column, name);
  Times times;
  times.are_dates = kind_of(*column->type()) == ColumnKind::time;
  if (std::optional<WholeTimes> whole = whole_times(column)) {
    times.unit = 1.0 / static_cast<double>(whole->in_a_second);
    times.keys = std::move(whole->values);
  } else {
    times.are_reals = true;
    const std::vector<double> numbers = read_numbers(*column);
    times.keys.resize(numbers.size());
    std::ranges::transform(numbers, times.keys.begin(), key_of);
  }
  return times;
}

std::string in_group(const std::string& name) {
  return name.empty() ? "" : fmt::format(" of the group '{}'", shortened(name));
}

std::string step_text(double step, const Times& times) {
  constexpr double day = 86'400;
  if (!times.are_dates) return fmt::format("{:.6g}", step);
  return step < day ? human_seconds(step) : fmt::format("{:.4g} days", step / day);
}

class Ordering {
 public:
  Ordering(const Table& table, const std::string& group_column, const std::string& time_column)
      : table_(table), time_column_(time_column) {
    if (!time_column.empty()) times_ = times_of(table, time_column);
    if (group_column.empty()) {
      order_.groups.push_back({"", 0, table.rows()});
      if (time_column.empty()) return;  // as they stand
      order_.rows.resize(static_cast<std::size_t>(table.rows()));
      std::iota(order_.rows.begin(), order_.rows.end(), std::int64_t{0});
      return;
    }
    for (ValueRows& each : rows_by_value(table, group_column)) {
      const auto begin = static_cast<std::int64_t>(order_.rows.size());
      order_.rows.insert(order_.rows.end(), each.rows.begin(), each.rows.end());
      order_.groups.push_back({std::move(each.value), begin, static_cast<std::int64_t>(order_.rows.size())});
    }
  }

  SeriesOrder order(const Notes& notes) {
    if (!time_column_.empty()) {
      for (const SeriesOrder::Group& group : order_.groups) sort(group);
      tell_of_sorting(notes);
      tell_of_gaps(notes);
    }
    set_ticks();
    const bool is_as_it_was = std::ranges::is_sorted(order_.rows);
    if (is_as_it_was) order_.rows = {};
    return std::move(order_);
  }

 private:
  std::int64_t key_at(std::int64_t moment) const {
    return times_.keys[static_cast<std::size_t>(order_.rows[static_cast<std::size_t>(moment)])];
  }

  void sort(const SeriesOrder::Group& group) {
    const auto begin = order_.rows.begin() + group.begin;
    const auto end = order_.rows.begin() + group.end;
    const auto key = [this](std::int64_t row) { return times_.keys[static_cast<std::size_t>(row)]; };
    if (!std::ranges::is_sorted(begin, end, {}, key)) {
      ++unsorted_;
      if (first_unsorted_.empty()) first_unsorted_ = group.name;
      std::ranges::stable_sort(begin, end, {}, key);
    }
    const auto twice = std::ranges::adjacent_find(begin, end, {}, key);
    if (twice == end) return;
    const auto value = or_fail(table_.column(time_column_)->GetScalar(*twice), "reading a time");
    refuse_setting(
        "time_column",
        "time_column '{}': rows {} and {}{} have the same time, {}; a series has one row for each moment: "
        "remove one of them, or name the column that tells several series apart as group_column",
        time_column_, table_.row_number(*twice), table_.row_number(*std::next(twice)), in_group(group.name),
        shortened(value->ToString()));
  }

  void tell_of_sorting(const Notes& notes) const {
    if (unsorted_ == 0) return;
    notes(Severity::info,
          order_.groups.size() == 1
              ? fmt::format("the rows were not in the order of time_column '{}', and have been sorted by it",
                            time_column_)
              : fmt::format("the rows of {} of {} groups, such as '{}', were not in the order of time_column "
                            "'{}', and have been sorted by it",
                            human_count(unsorted_), human_count(order_.groups.size()),
                            shortened(first_unsorted_), time_column_));
  }

  void tell_of_gaps(const Notes& notes) const {
    std::vector<double> steps;
    steps.reserve(static_cast<std::size_t>(table_.rows()));
    std::int64_t row_of_longest = 0;
    double longest = 0;
    for (const SeriesOrder::Group& group : order_.groups) {
      for (std::int64_t moment = group.begin + 1; moment < group.end; ++moment) {
        steps.push_back(times_.value(key_at(moment)) - times_.value(key_at(moment - 1)));
        if (steps.back() <= longest) continue;
        longest = steps.back();
        row_of_longest = order_.rows[static_cast<std::size_t>(moment - 1)];
      }
    }
    if (steps.empty()) return;
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::ranges::nth_element(steps, middle);
    const double usual = *middle;
    const auto gaps =
        std::ranges::count_if(steps, [&](double step) { return step > usual_steps_of_a_gap * usual; });
    if (gaps == 0) return;
    notes(
        Severity::info,
        fmt::format("time_column '{}' has {}: steps more than {} times as long as the usual one of {}; the "
                    "longest, of {}, is after row {}. Windows go on across them",
                    time_column_, counted(static_cast<std::uint64_t>(gaps), "gap"), usual_steps_of_a_gap,
                    step_text(usual, times_), step_text(longest, times_), table_.row_number(row_of_longest)));
  }

  void set_ticks() {
    order_.ticks.resize(static_cast<std::size_t>(table_.rows()));
    if (time_column_.empty() || order_.groups.size() == 1) {
      for (const SeriesOrder::Group& group : order_.groups)
        std::iota(order_.ticks.begin() + group.begin, order_.ticks.begin() + group.end, 0);
      return;
    }
    std::vector<std::int64_t> ranks = times_.keys;
    std::ranges::sort(ranks);
    const auto repeated = std::ranges::unique(ranks);
    ranks.erase(repeated.begin(), repeated.end());
    for (std::size_t moment = 0; moment < order_.ticks.size(); ++moment)
      order_.ticks[moment] = static_cast<std::int32_t>(
          std::ranges::lower_bound(ranks, key_at(static_cast<std::int64_t>(moment))) - ranks.begin());
  }

  const Table& table_;
  const std::string& time_column_;
  Times times_;
  SeriesOrder order_;
  std::size_t unsorted_ = 0;  // groups
  std::string first_unsorted_;
};

}  // namespace

SeriesOrder order_series(const Table& table, const std::string& group_column, const std::string& time_column,
                         const Notes& notes) {
  if (table.rows() > std::numeric_limits<std::int32_t>::max())
    refuse("a series of {} rows is too long; the maximum is {}",
           human_count(static_cast<std::uint64_t>(table.rows())),
           human_count(std::numeric_limits<std::int32_t>::max()));
  return Ordering(table, group_column, time_column).order(notes);
}

}  // namespace stoker
