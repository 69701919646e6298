#include "data/windows/window_answers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_dict.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/memory/arrow_result.h"
#include "data/memory/page_memory.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using LastMoments = std::vector<std::int64_t>;

// Keeps those of the windows whose answer can be told.
template <class CanTell>
void keep_answered(const WindowsConfig& config, LastMoments& last_moments, const Notes& notes,
                   const std::string& reason, const CanTell& can_tell) {
  const std::size_t all = last_moments.size();
  std::erase_if(last_moments, [&](std::int64_t last) { return !can_tell(last); });
  if (last_moments.empty())
    refuse_setting("target_column",
                   "target_column '{}': no window has an answer, because the value of each {}",
                   config.target_column, reason);
  const std::size_t without = all - last_moments.size();
  if (without > 0)
    notes(Severity::warning,
          fmt::format("target_column '{}': {} of {} windows {} left out, because the value that the answer "
                      "comes from {}",
                      config.target_column, human_count(without), human_count(all),
                      without == 1 ? "is" : "are", reason));
}

std::vector<double> target_series(const std::shared_ptr<arrow::ChunkedArray>& column,
                                  const WindowsConfig& config) {
  if (!is_numeric(kind_of(*column->type())))
    refuse_setting("target_column",
                   "target_column '{}' does not contain numbers, which answer: {} needs; use ahead or given",
                   config.target_column, config::name_of(config.answer));
  return read_numbers(*column);
}

std::vector<NewColumn> directions(const std::shared_ptr<arrow::ChunkedArray>& column,
                                  const WindowsConfig& config, LastMoments& last_moments,
                                  const Notes& notes) {
  const std::vector<double> values = target_series(column, config);
  const auto change = [&](std::int64_t last) {
    const double now = values[static_cast<std::size_t>(last)];
    const double then = values[static_cast<std::size_t>(last + config.horizon)];
    return now == 0 ? missing_number : (then - now) / std::abs(now);
  };
  keep_answered(config, last_moments, notes, "is missing, or the change is relative to 0",
                [&](std::int64_t last) { return std::isfinite(change(last)); });
  arrow::StringDictionary32Builder builder;
  or_fail(builder.Reserve(static_cast<std::int64_t>(last_moments.size())), "answers");
  for (const std::int64_t last : last_moments) {
    const double by = change(last);
    or_fail(builder.Append(by > config.threshold    ? "up"
                           : by < -config.threshold ? "down"
                                                    : "flat"),
            "answers");
  }
  std::shared_ptr<arrow::Array> names;
  or_fail(builder.Finish(&names), "answers");
  return {{arrow::field(config.target_column, names->type()), std::make_shared<arrow::ChunkedArray>(names)}};
}

}  // namespace

std::vector<std::uint8_t> missing_values_in(const std::shared_ptr<arrow::ChunkedArray>& column) {
  if (kind_of(*column->type()) == ColumnKind::text) return read_texts(column).missing;
  std::vector<std::uint8_t> missing;
  missing.reserve(static_cast<std::size_t>(column->length()));
  each_block(*column, [&](std::span<const double> numbers) {
    for (const double number : numbers) missing.push_back(std::isnan(number) ? 1 : 0);
  });
  return missing;
}

std::shared_ptr<arrow::ChunkedArray> values_at(const std::shared_ptr<arrow::ChunkedArray>& column,
                                               const std::vector<std::int64_t>& rows, std::int64_t ahead) {
  const auto apart = [](std::int64_t a, std::int64_t b) { return b != a + 1; };
  if (std::ranges::adjacent_find(rows, apart) == rows.end())  // of one series: a view is enough
    return column->Slice(rows.empty() ? 0 : rows.front() + ahead, static_cast<std::int64_t>(rows.size()));
  std::vector<std::int64_t> moved = rows;
  for (std::int64_t& row : moved) row += ahead;
  const auto indices =
      std::make_shared<arrow::Int64Array>(static_cast<std::int64_t>(rows.size()), arrow::Buffer::Wrap(moved));
  arrow::compute::ExecContext memory(page_memory());
  return or_fail(arrow::compute::Take(arrow::Datum(column), arrow::Datum(indices),
                                      arrow::compute::TakeOptions::NoBoundsCheck(), &memory),
                 "taking rows of a series")
      .chunked_array();
}

std::vector<NewColumn> answers_of(const Table& sorted, const WindowsConfig& config,
                                  std::vector<std::int64_t>& last_moments, const Notes& notes) {
  const auto column = sorted.column(config.target_column);
  if (kind_of(*column->type()) == ColumnKind::unsupported)
    refuse_setting("target_column", "target_column '{}' has type {}, which cannot be predicted",
                   config.target_column, column->type()->ToString());
  if (config.answer == Answer::direction) return directions(column, config, last_moments, notes);
  if (config.answer == Answer::path) target_series(column, config);
  const std::vector<std::uint8_t> missing = missing_values_in(column);
  const std::int64_t first_step = config.answer == Answer::path ? 1 : config.moments_needed_ahead();
  const std::int64_t last_step = config.moments_needed_ahead();
  keep_answered(config, last_moments, notes, "is missing", [&](std::int64_t last) {
    for (std::int64_t step = first_step; step <= last_step; ++step)
      if (missing[static_cast<std::size_t>(last + step)] != 0) return false;
    return true;
  });
  const std::vector<std::string> names = answer_columns(config);
  std::vector<NewColumn> columns;
  const auto field = sorted.columns->schema()->GetFieldByName(config.target_column);
  for (std::int64_t step = first_step; step <= last_step; ++step)
    columns.emplace_back(field->WithName(names[static_cast<std::size_t>(step - first_step)]),
                         values_at(column, last_moments, step));
  return columns;
}

}  // namespace stoker
