#include "data/windows/join_as_of.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"
#include "data/table/column_values.h"
#include "data/table/value_rows.h"
#include "data/table/whole_times.h"

namespace stoker {
namespace {

constexpr std::int64_t nothing_known = -1;

// A time to its last digit, whatever unit its column has.
struct Instant {
  std::int64_t whole = 0;  // seconds, or whatever numbers the column holds
  double rest = 0;         // from 0 to below 1
  friend auto operator<=>(const Instant&, const Instant&) = default;
};

struct TimedRows {
  std::vector<Instant> times;  // of all rows
  std::vector<ValueRows> groups;
};

Instant instant_of(double time) {
  constexpr double largest = 9e18;
  if (!(std::abs(time) < largest)) return {std::numeric_limits<std::int64_t>::max(), time};
  const double whole = std::floor(time);
  return {static_cast<std::int64_t>(whole), time - whole};
}

// Of a column without missing values.
std::vector<Instant> instants_in(const std::shared_ptr<arrow::ChunkedArray>& column) {
  std::vector<Instant> instants;
  instants.reserve(static_cast<std::size_t>(column->length()));
  const std::optional<WholeTimes> times = whole_times(column);
  if (!times) {
    for (const double time : read_numbers(*column)) instants.push_back(instant_of(time));
    return instants;
  }
  const std::int64_t parts = times->in_a_second;
  for (const std::int64_t time : times->values) {
    const std::int64_t below = time % parts < 0 ? 1 : 0;
    instants.push_back({time / parts - below,
                        static_cast<double>(time % parts + below * parts) / static_cast<double>(parts)});
  }
  return instants;
}

std::string told_time(const Table& table, const std::string& column, std::int64_t row) {
  const auto value = or_fail(table.column(column)->GetScalar(row), "reading a time");
  return shortened(value->ToString());
}

void refuse_times_that_do_not_rise(const Table& table, const TimedRows& rows, const AsOf& how,
                                   const std::string& name) {
  for (const ValueRows& group : rows.groups) {
    for (std::size_t i = 1; i < group.rows.size(); ++i) {
      const std::int64_t before = group.rows[i - 1];
      const std::int64_t row = group.rows[i];
      const Instant& earlier = rows.times[static_cast<std::size_t>(before)];
      const Instant& time = rows.times[static_cast<std::size_t>(row)];
      if (earlier < time) continue;
      const std::string of_group =
          group.value.empty() ? "" : fmt::format(" of {} {}", how.group_column, group.value);
      const std::string told = told_time(table, how.time_column, row);
      if (earlier == time)
        refuse("{}: rows {} and {}{} have the same {}, {}; keep one of them", name, table.row_number(before),
               table.row_number(row), of_group, how.time_column, told);
      refuse("{}: row {}{} has the {} {}, which is before that of row {}, {}; sort the rows by it", name,
             table.row_number(row), of_group, how.time_column, told, table.row_number(before),
             told_time(table, how.time_column, before));
    }
  }
}

TimedRows timed_rows(const Table& table, const AsOf& how, const std::string& name) {
  const auto times = table.column(how.time_column);
  if (!is_numeric(kind_of(*times->type())))
    refuse("{}: column '{}' has the type {}, not times; if these are dates, date_columns says in which form",
           name, how.time_column, times->type()->ToString());
  if (count_missing(*times) > 0) {
    const std::vector<double> numbers = read_numbers(*times);
    const auto missing = std::ranges::find_if(numbers, [](double time) { return std::isnan(time); });
    refuse("{}: row {} has no {}", name, table.row_number(missing - numbers.begin()), how.time_column);
  }
  TimedRows rows;
  rows.times = instants_in(times);
  if (!how.group_column.empty() && table.has_column(how.group_column)) {
    rows.groups = rows_by_value(table, how.group_column);
  } else {
    rows.groups = {{"", std::vector<std::int64_t>(rows.times.size())}};
    std::iota(rows.groups.front().rows.begin(), rows.groups.front().rows.end(), 0);
  }
  return rows;
}

// Times of which it is written what moment they are. What was found as dates is in UTC, whether its form has
// a zone or not.
bool has_zone(const Table& table, const AsOf& how) {
  const auto type = table.column(how.time_column)->type();
  if (type->id() != arrow::Type::TIMESTAMP ||
      static_cast<const arrow::TimestampType&>(*type).timezone().empty())
    return false;
  const std::string form = date_form_of(table, how.time_column);
  return form.empty() || form.find("%z") != std::string::npos;
}

// Times that may be of any zone. Days alone are the same everywhere.
bool has_local_hours(const Table& table, const TimedRows& rows, const AsOf& how) {
  constexpr std::int64_t day = 86'400;
  return !has_zone(table, how) && std::ranges::any_of(rows.times, [](const Instant& time) {
    return time.whole % day != 0 || time.rest != 0;
  });
}

struct TimedTable {
  const Table& table;
  const TimedRows& rows;
};

void refuse_other_kind_of_time(const TimedTable& faster, const TimedTable& slower, const AsOf& how,
                               const std::string& name) {
  const auto is_date = [&](const TimedTable& each) {
    return kind_of(*each.table.column(how.time_column)->type()) == ColumnKind::time;
  };
  if (is_date(faster) != is_date(slower))
    refuse("{}: column '{}' holds {} there and {} in the table that it is joined to", name, how.time_column,
           is_date(slower) ? "dates" : "numbers", is_date(faster) ? "dates" : "numbers");
  const auto may_be_shifted = [&](const TimedTable& one, const TimedTable& other) {
    return has_zone(one.table, how) && has_local_hours(other.table, other.rows, how);
  };
  if (may_be_shifted(faster, slower) || may_be_shifted(slower, faster))
    refuse(
        "{}: its times {} a time zone, and those of the table that it is joined to {}; write both the same "
        "way",
        name, has_zone(slower.table, how) ? "have" : "do not have",
        has_zone(faster.table, how) ? "do" : "do not");
}

double between(const Instant& earlier, const Instant& later) {
  return static_cast<double>(later.whole) - static_cast<double>(earlier.whole) + later.rest - earlier.rest;
}

// What comes after all slower rows is an ordinary forecast as long as it is not far behind them, measured by
// their own steps. One row alone has none.
bool is_far_behind(const TimedRows& slower, const Instant& slow_first, const Instant& slow_last,
                   const Instant& first) {
  constexpr double steps_of_a_pause = 10;
  const auto rows_of = [](const ValueRows& group) { return group.rows.size(); };
  const std::size_t longest = rows_of(*std::ranges::max_element(slower.groups, {}, rows_of));
  if (longest < 2) return false;
  const double span = between(slow_first, slow_last);
  const double step = span / static_cast<double>(longest - 1);
  return between(slow_last, first) > std::max(span, steps_of_a_pause * step);
}

// Units or years that differ make every row the same.
void warn_of_times_apart(const TimedRows& faster, const TimedRows& slower, const std::string& name,
                         const Notes& notes) {
  if (faster.times.empty() || slower.times.empty()) return;
  const auto [first, last] = std::ranges::minmax(faster.times);
  const auto [slow_first, slow_last] = std::ranges::minmax(slower.times);
  const bool is_before = slow_last < first && is_far_behind(slower, slow_first, slow_last, first);
  if (!is_before && slow_first <= last) return;
  notes(Severity::warning,
        fmt::format("all rows of {} are {} of the table that it is joined to; are the times of both in the "
                    "same unit?",
                    name, is_before ? "earlier than the first row" : "later than the last row"));
}

// How long a slower row usually lasts: the median of what lies between one and the next.
std::optional<double> usual_step(const ValueRows& rows, std::span<const Instant> times) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < rows.rows.size(); ++i)
    steps.push_back(between(times[static_cast<std::size_t>(rows.rows[i - 1])],
                            times[static_cast<std::size_t>(rows.rows[i])]));
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  return *middle;
}

// For each row of a group of the faster table, whatever their order, the row of the slower one that was
// known. The last one has none behind it whose beginning would end it: it ends when it has lasted as long as
// usual, or the newest bar would be missing from every forecast.
void match(const ValueRows& faster, std::span<const Instant> faster_times, const ValueRows& slower,
           std::span<const Instant> slower_times, Stamp stamp, std::vector<std::int64_t>& known) {
  const std::optional<double> step = usual_step(slower, slower_times);
  for (const std::int64_t row : faster.rows) {
    const Instant& now = faster_times[static_cast<std::size_t>(row)];
    const auto not_begun = std::ranges::upper_bound(slower.rows, now, std::less(), [&](std::int64_t each) {
      return slower_times[static_cast<std::size_t>(each)];
    });
    const std::int64_t begun = not_begun - slower.rows.begin();
    const bool last_is_over =
        begun == static_cast<std::int64_t>(slower.rows.size()) && step &&
        between(slower_times[static_cast<std::size_t>(slower.rows.back())], now) >= *step;
    const std::int64_t over = stamp == Stamp::close || last_is_over ? begun : begun - 1;
    if (over > 0) known[static_cast<std::size_t>(row)] = slower.rows[static_cast<std::size_t>(over - 1)];
  }
}

std::vector<std::int64_t> rows_known(const TimedRows& faster, const TimedRows& slower, bool by_group,
                                     const AsOf& how, const std::string& name, const Notes& notes) {
  std::map<std::string_view, const ValueRows*> by_value;
  for (const ValueRows& group : slower.groups) by_value[group.value] = &group;
  std::vector<std::int64_t> known(faster.times.size(), nothing_known);
  std::vector<std::string> without;
  for (const ValueRows& group : faster.groups) {
    const auto found = by_value.find(by_group ? std::string_view(group.value) : std::string_view());
    if (found == by_value.end()) {
      without.push_back(group.value);
      continue;
    }
    match(group, faster.times, *found->second, slower.times, how.stamp, known);
  }
  if (without.size() == faster.groups.size())
    refuse("{} has no {} in common with the table that it is joined to, which has {}", name, how.group_column,
           shortened(join(without, ", ")));
  if (!without.empty())
    notes(Severity::warning, fmt::format("{} has no rows of {} {}: its columns are missing there", name,
                                         how.group_column, shortened(join(without, ", "))));
  return known;
}

std::shared_ptr<arrow::Array> as_indices(const std::vector<std::int64_t>& rows) {
  arrow::Int64Builder builder;
  or_fail(builder.Reserve(static_cast<std::int64_t>(rows.size())), "joining tables");
  for (const std::int64_t row : rows) {
    if (row == nothing_known) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(row);
    }
  }
  return or_fail(builder.Finish(), "joining tables");
}

Table with_columns(const Table& faster, const Table& slower, const std::vector<std::int64_t>& known,
                   const AsOf& how, const std::string& name) {
  const auto indices = as_indices(known);
  Table result = faster;
  result.columns = in_memory(faster.columns);
  for (int position = 0; position < slower.columns->num_columns(); ++position) {
    const auto field = slower.columns->field(position);
    if (field->name() == how.time_column || field->name() == how.group_column) continue;
    const std::string joined = joined_name(how.prefix, field->name());
    if (result.has_column(joined))
      refuse("{}: its column '{}' would become '{}', which is there already; use another prefix", name,
             field->name(), joined);
    const auto values = or_fail(arrow::compute::Take(slower.columns->column(position), arrow::Datum(indices),
                                                     arrow::compute::TakeOptions::NoBoundsCheck()),
                                "joining tables");
    result.columns = or_fail(
        result.columns->AddColumn(result.columns->num_columns(), field->WithName(joined)->WithNullable(true),
                                  values.chunked_array()),
        "joining tables");
  }
  return result;
}

}  // namespace

Table join_as_of(const Table& faster, const Table& slower, const AsOf& how, const Notes& notes) {
  for (const Table* each : {&faster, &slower})
    refuse_cubes(*each, "rows are joined by the times in a column");
  const std::string name = fmt::format("the slower table {}", how.prefix);
  const bool by_group = !how.group_column.empty() && slower.has_column(how.group_column);
  const TimedRows fast = timed_rows(faster, how, "the table to join to");
  const TimedRows slow = timed_rows(slower, how, name);
  refuse_times_that_do_not_rise(slower, slow, how, name);
  refuse_other_kind_of_time({faster, fast}, {slower, slow}, how, name);
  warn_of_times_apart(fast, slow, name, notes);
  const std::vector<std::int64_t> known = rows_known(fast, slow, by_group, how, name, notes);
  const auto unknown = static_cast<std::uint64_t>(std::ranges::count(known, nothing_known));
  if (unknown > 0)
    notes(Severity::info, fmt::format("{} of {} rows come before anything was known of {}: its columns are "
                                      "missing there",
                                      human_count(unknown), human_count(known.size()), name));
  const Table joined = with_columns(faster, slower, known, how, name);
  const std::string form = date_form_of(slower, how.time_column);
  return form.empty()
             ? joined
             : with_form_beside(joined, how.time_column, joined_name(how.prefix, how.time_column), form);
}

std::string joined_name(const std::string& slower, const std::string& column) {
  return slower + "_" + column;
}

std::string name_in_slower(const std::string& slower, const std::string& joined) {
  const std::string start = joined_name(slower, "");
  return joined.starts_with(start) ? joined.substr(start.size()) : "";
}

std::vector<std::string> names_in_slower(const std::string& slower, const std::vector<std::string>& joined) {
  std::vector<std::string> names;
  for (const std::string& each : joined)
    if (std::string own = name_in_slower(slower, each); !own.empty()) names.push_back(std::move(own));
  return names;
}

DateForms forms_in_slower(const std::string& slower, const DateForms& joined) {
  DateForms forms;
  for (const auto& [name, form] : joined)
    if (const std::string own = name_in_slower(slower, name); !own.empty()) forms.emplace(own, form);
  return forms;
}

std::vector<std::string> names_of_slower(const SlowerConfig& config, std::size_t tables) {
  std::vector<std::string> names = config.slower_names;
  if (!names.empty() && names.size() != tables)
    refuse("slower_names has {} for {}", counted(names.size(), "name"), counted(tables, "slower table"));
  for (std::size_t i = names.size(); i < tables; ++i) names.push_back(fmt::format("slower{}", i + 1));
  return names;
}

Table join_slower_tables(Table table, const std::vector<Table>& slower, const SlowerConfig& config,
                         const std::string& time_column, const std::string& group_column,
                         const Notes& notes) {
  const std::vector<std::string> names = names_of_slower(config, slower.size());
  if (!slower.empty() && time_column.empty()) refuse("slower tables are joined by time; set time_column");
  for (std::size_t i = 0; i < slower.size(); ++i)
    table = join_as_of(table, slower[i],
                       {.time_column = time_column,
                        .group_column = group_column,
                        .prefix = names[i],
                        .stamp = config.slower_stamp},
                       notes);
  return table;
}

}  // namespace stoker
