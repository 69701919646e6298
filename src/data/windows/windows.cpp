#include "data/windows/windows.h"

#include <algorithm>
#include <set>
#include <span>

#include <arrow/table.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/memory/kept_columns.h"
#include "data/split/series_order.h"
#include "data/split/time_order.h"
#include "data/table/array_columns.h"
#include "data/table/column_values.h"
#include "data/windows/carry_forward.h"
#include "data/windows/window_answers.h"

namespace stoker {
namespace {

using Group = SeriesOrder::Group;

constexpr std::int64_t most_lag_columns = 10'000;

bool are_consecutive(const NumberRuns<std::int64_t>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i] != rows[i - 1] + 1) return false;
  return true;
}

void refuse_unfit(const Table& table, const WindowsConfig& config) {
  if (const WindowsProblem problem = problem_of(config); !problem.text.empty())
    refuse("{} {}", problem.setting, problem.text);
  refuse_cubes(table, "windows are made of rows of a series");
  if (table.time_order) refuse("the rows are windows of a series already");
  // With its neighbours elsewhere, a row says nothing about what comes before and after it.
  if (table.source_rows && !are_consecutive(*table.source_rows))
    refuse(
        "the rows are a random part of a table, and rows of a series only make sense one after the other; "
        "make the windows first and split them after it: windows are divided by time");
  for (const std::string& name : {config.time_column, config.group_column})
    if (!name.empty()) column_position(table, name);
}

std::vector<std::string> features_of(const Table& table, const WindowsConfig& config, const Notes& notes) {
  std::set<std::string> seen;
  for (const std::string& name : config.feature_columns) {
    column_position(table, name);
    if (!seen.insert(name).second)
      refuse_setting("feature_columns", "feature_columns names '{}' twice", name);
  }
  if (!config.feature_columns.empty()) return config.feature_columns;
  std::vector<std::string> names;
  for (const auto& field : table.columns->schema()->fields()) {
    const std::string& name = field->name();
    const bool is_answer = config.answer == Answer::given && name == config.target_column;
    if (is_answer || name == config.time_column || name == config.group_column) continue;
    if (kind_of(*field->type()) == ColumnKind::unsupported) {
      notes(Severity::warning, fmt::format("column '{}' is left out: its type {} cannot be converted to "
                                           "numbers",
                                           name, field->type()->ToString()));
      continue;
    }
    names.push_back(name);
  }
  if (names.empty()) refuse("the table has no column to predict from");
  return names;
}

// All that windows are made of, each column once.
std::vector<std::string> columns_needed(const std::vector<std::string>& features, const WindowsConfig& config,
                                        FramedRows rows) {
  std::vector<std::string> names = features;
  std::vector<std::string> others{config.time_column, config.group_column};
  if (rows == FramedRows::to_learn) others.push_back(config.target_column);
  for (const std::string& name : others)
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

Table with_columns_named(const Table& table, const std::vector<std::string>& names) {
  std::vector<int> positions;
  for (const std::string& name : names) positions.push_back(column_position(table, name));
  Table chosen = table;
  chosen.columns = chosen_columns(table.columns, positions);
  return chosen;
}

std::string series_text(const Group& group) {
  const std::string rows = counted(static_cast<std::uint64_t>(group.size()), "row");
  return group.name.empty() ? fmt::format("the series has {}", rows)
                            : fmt::format("the longest series, '{}', has {}", shortened(group.name), rows);
}

[[noreturn]] void refuse_too_short(const Group& longest, const WindowsConfig& config, FramedRows rows) {
  const std::string found = series_text(longest);
  if (rows != FramedRows::to_learn)
    refuse("a forecast needs the {} before it, as many as the windows that the model was trained on, but {}",
           counted(static_cast<std::uint64_t>(config.length), "row"), found);
  if (longest.size() < config.length)
    refuse("length {} is longer than every series: {}; use shorter windows", config.length, found);
  refuse("horizon {} reaches beyond the data: a window of {} rows and its answer need {}, but {}",
         config.horizon, config.length, config.length + config.horizon, found);
}

void tell_of_short_groups(const std::vector<const Group*>& left_out, std::size_t all, std::int64_t needed,
                          const Notes& notes) {
  constexpr std::size_t most_named = 5;
  if (left_out.empty()) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(left_out.size(), most_named); ++i)
    names.push_back(fmt::format("'{}' ({})", shortened(left_out[i]->name),
                                counted(static_cast<std::uint64_t>(left_out[i]->size()), "row")));
  if (left_out.size() > most_named) names.push_back(fmt::format("{} more", left_out.size() - most_named));
  notes(Severity::warning,
        fmt::format("{} of {} groups {} left out, with fewer rows than the {} that a window takes: {}",
                    human_count(left_out.size()), human_count(all), left_out.size() == 1 ? "is" : "are",
                    human_count(static_cast<std::uint64_t>(needed)), join(names, ", ")));
}

// The last moment of each window, series by series.
std::vector<std::int64_t> last_moments_of(const SeriesOrder& order, const WindowsConfig& config,
                                          FramedRows rows, const Notes& notes) {
  const bool learns = rows == FramedRows::to_learn;
  const std::int64_t ahead = learns ? config.moments_needed_ahead() : 0;
  const std::int64_t stride = learns ? config.stride : 1;
  std::vector<std::int64_t> last_moments;
  std::vector<const Group*> left_out;
  for (const Group& group : order.groups) {
    if (group.size() < config.length + ahead) {
      left_out.push_back(&group);
    } else if (rows == FramedRows::last) {
      last_moments.push_back(group.end - 1);
    } else {
      for (std::int64_t last = group.begin + config.length - 1; last + ahead < group.end; last += stride)
        last_moments.push_back(last);
    }
  }
  if (last_moments.empty())
    refuse_too_short(*std::ranges::max_element(order.groups, {}, &Group::size), config, rows);
  tell_of_short_groups(left_out, order.groups.size(), config.length + ahead, notes);
  return last_moments;
}

std::shared_ptr<const TimeOrder> spans_of(const std::vector<std::int64_t>& last_moments,
                                          const SeriesOrder& order, const WindowsConfig& config,
                                          FramedRows rows) {
  auto result = std::make_shared<TimeOrder>();
  auto group = order.groups.begin();
  for (const std::int64_t last : last_moments) {
    while (last >= group->end) ++group;
    const std::int64_t ahead = rows == FramedRows::to_learn ? config.horizon : 0;
    const std::int64_t end = std::min(last + ahead, group->end - 1);
    result->first.push_back(order.ticks[static_cast<std::size_t>(last - config.length + 1)]);
    result->last.push_back(order.ticks[static_cast<std::size_t>(end)]);
  }
  return result;
}

// A column for each feature and moment of a window.
void add_lags(const Table& sorted, const std::vector<std::string>& features, const WindowsConfig& config,
              const std::vector<std::int64_t>& last_moments, std::vector<NewColumn>& columns) {
  const std::int64_t count = config.length * static_cast<std::int64_t>(features.size());
  if (count > most_lag_columns)
    refuse(
        "layout: columns makes {} columns of {} features and windows of {}, and the maximum is {}; use "
        "layout: windows with a model that reads them",
        human_count(static_cast<std::uint64_t>(count)), features.size(), config.length,
        human_count(most_lag_columns));
  for (const std::string& name : features) {
    const auto column = sorted.column(name);
    const auto field = sorted.columns->schema()->GetFieldByName(name);
    for (std::int64_t back = config.length - 1; back >= 0; --back) {
      columns.emplace_back(field->WithName(lag_column(name, back)), values_at(column, last_moments, -back));
    }
  }
}

Table table_with(const std::vector<NewColumn>& columns, std::int64_t rows) {
  arrow::FieldVector fields;
  arrow::ChunkedArrayVector values;
  std::set<std::string> names;
  for (const auto& [field, column] : columns) {
    if (!names.insert(field->name()).second)
      refuse("two columns of the windows would be called '{}'; rename one of the table's", field->name());
    fields.push_back(field);
    values.push_back(column);
  }
  return {arrow::Table::Make(arrow::schema(fields), std::move(values), rows)};
}

}  // namespace

bool has_windows(const Table& table) {
  return table.windows && table.windows->are_places();
}

namespace {

// How far the value of a column lies after the last moment of its window; before it, a negative number.
std::int64_t moments_after_end(const WindowsConfig& config, const std::string& column) {
  const std::vector<std::string> answers = answer_columns(config);
  const auto answer = std::ranges::find(answers, column);
  if (answer != answers.end())
    return config.answer == Answer::path ? answer - answers.begin() + 1 : config.moments_needed_ahead();
  const std::string feature = feature_of_lag(config, column);
  for (std::int64_t back = 0; back < config.length; ++back)
    if (lag_column(feature, back) == column) return -back;
  return 0;
}

}  // namespace

std::int64_t row_number_in(const Table& table, std::int64_t row, const std::string& column) {
  // Windows that an earlier version cached do not know where they come from.
  if (!table.windows || table.windows->starts.empty()) return table.row_number(row);
  const Windows& windows = *table.windows;
  const std::int64_t moment =
      start_of(table, row) + windows.config.length - 1 + moments_after_end(windows.config, column);
  const auto& rows = windows.are_places() ? windows.series.source_rows : windows.moment_rows;
  return (rows ? rows->at(static_cast<std::size_t>(moment)) : moment) + 1;
}

std::int64_t start_of(const Table& table, std::int64_t row) {
  const std::int64_t place = table.source_rows ? (*table.source_rows)[static_cast<std::size_t>(row)] : row;
  return table.windows->starts.at(static_cast<std::size_t>(place));
}

namespace {

// What comes next is told by the end of a series; values that are old by then are not those of its end.
void tell_of_ends(const Table& sorted, const std::vector<std::string>& features,
                  const std::vector<SeriesOrder::Group>& groups, const Notes& notes) {
  std::vector<std::string> named;
  for (const auto& [name, count] : carried_at_ends(sorted, features, groups))
    named.push_back(fmt::format("{} in '{}'", human_count(static_cast<std::uint64_t>(count)), name));
  if (!named.empty())
    notes(Severity::warning, fmt::format("values that are missing at the end of {} were filled in with the "
                                         "last one before them (carry_forward): {}",
                                         groups.size() == 1 ? "the series" : "series", join(named, ", ")));
}

}  // namespace

Table frame_series(const Table& table, const WindowsConfig& config, FramedRows rows, const Notes& notes) {
  refuse_unfit(table, config);
  const bool learns = rows == FramedRows::to_learn;
  if (learns) column_position(table, config.target_column);
  const std::vector<std::string> features = features_of(table, config, notes);
  SeriesOrder order = order_series(table, config.group_column, config.time_column, notes);
  if (learns && config.time_column.empty() && order.groups.size() > 1)
    notes(Severity::warning,
          fmt::format("there are {} groups and no time_column: the first rows of all groups are taken to be "
                      "of the same moment. If they are not, a model may be tested on times that it was "
                      "trained on; name a time_column",
                      human_count(order.groups.size())));
  std::vector<std::int64_t> last_moments = last_moments_of(order, config, rows, notes);
  Table sorted = with_columns_named(table, columns_needed(features, config, rows));
  if (!order.rows.empty()) sorted = take_rows(sorted, std::move(order.rows));

  std::vector<NewColumn> columns;
  if (learns) columns = answers_of(sorted, config, last_moments, notes);
  for (const std::string& name : {config.time_column, config.group_column})
    if (!name.empty())
      columns.emplace_back(sorted.columns->schema()->GetFieldByName(name),
                           values_at(sorted.column(name), last_moments, 0));
  if (config.carry_forward) {
    if (!learns) tell_of_ends(sorted, features, order.groups, notes);
    sorted = carried_forward(sorted, features, order.groups);
  }
  auto windows = std::make_shared<Windows>();
  windows->config = config;
  windows->config.feature_columns = features;  // a forecast is to read the same
  for (const std::int64_t last : last_moments)
    windows->starts.push_back(static_cast<std::int32_t>(last - config.length + 1));
  if (windows->are_places()) {
    windows->series = with_columns_named(sorted, features);
  } else {
    windows->moment_rows = sorted.source_rows;
    add_lags(sorted, features, config, last_moments, columns);
  }
  Table framed = table_with(columns, static_cast<std::int64_t>(last_moments.size()));
  framed.time_order = spans_of(last_moments, order, config, rows);
  framed.windows = std::move(windows);
  return framed;
}

namespace {

// A part of a series that windows cover without a break.
struct Stretch {
  RangeOfRows moments;
  std::int64_t before = 0;  // covered moments before it
};

using Starts = std::span<const std::int64_t>;

std::vector<Stretch> stretches_of(Starts starts, std::int64_t length) {
  if (!std::ranges::is_sorted(starts)) {
    std::vector<std::int64_t> sorted(starts.begin(), starts.end());
    std::ranges::sort(sorted);
    return stretches_of(sorted, length);
  }
  std::vector<Stretch> stretches;
  for (const std::int64_t start : starts) {
    if (!stretches.empty() && start <= stretches.back().moments.end) {
      stretches.back().moments.end = start + length;
      continue;
    }
    const std::int64_t before =
        stretches.empty() ? 0 : stretches.back().before + stretches.back().moments.size();
    stretches.push_back({{start, start + length}, before});
  }
  return stretches;
}

Table moments_in(const Table& series, const std::vector<Stretch>& stretches) {
  Table covered = series;
  std::vector<RangeOfRows> ranges;
  auto source_rows = std::make_shared<NumberRuns<std::int64_t>>();
  for (const Stretch& each : stretches) {
    ranges.push_back(each.moments);
    for (std::int64_t moment = each.moments.begin; moment < each.moments.end; ++moment)
      source_rows->push_back(series.source_rows ? (*series.source_rows)[static_cast<std::size_t>(moment)]
                                                : moment);
  }
  covered.columns = ranges_of_rows(series.columns, std::move(ranges));
  // From the first one on they keep their numbers.
  const bool is_beginning = stretches.size() == 1 && stretches.front().moments.begin == 0;
  if (!is_beginning || series.source_rows) covered.source_rows = std::move(source_rows);
  return covered;
}

}  // namespace

CoveredMoments covered_moments(const Table& table) {
  const Table& series = table.windows->series;
  CoveredMoments covered{series, Array(DType::int64, {table.rows()})};
  const std::span<std::int64_t> starts = covered.starts.as<std::int64_t>();
  for (std::int64_t row = 0; row < table.rows(); ++row)
    starts[static_cast<std::size_t>(row)] = start_of(table, row);
  const std::vector<Stretch> stretches = stretches_of(starts, table.windows->config.length);
  if (stretches.empty()) return covered;
  const auto first_moment = [](const Stretch& each) { return each.moments.begin; };
  for (std::int64_t& start : starts) {
    const Stretch& own = *std::prev(std::ranges::upper_bound(stretches, start, {}, first_moment));
    start = own.before + start - own.moments.begin;
  }
  if (stretches.size() > 1 || stretches.front().moments.size() < series.rows())
    covered.moments = moments_in(series, stretches);
  return covered;
}

std::vector<std::string> target_parts(const Table& table, const std::string& target) {
  if (table.windows && target == table.windows->config.target_column)
    return answer_columns(table.windows->config);
  if (table.has_column(target)) return {target};
  std::vector<std::string> parts = array_parts(table, target);
  return parts.empty() ? std::vector{target} : parts;
}

}  // namespace stoker
