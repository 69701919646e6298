#include "data/windows/windows_files.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <system_error>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/memory/arrow_result.h"
#include "data/split/time_order.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

constexpr const char* windows_key = "stoker.windows";  // in the metadata: their settings
constexpr const char* first_key = "first_tick";
constexpr const char* last_key = "last_tick";
constexpr const char* start_key = "start";
constexpr const char* moment_row_key = "row";

using Ticks = std::vector<std::int32_t>;

std::filesystem::path file_beside(const std::filesystem::path& path, const char* what) {
  return path.parent_path() / fmt::format("{}.{}.arrow", path.stem().string(), what);
}
std::filesystem::path series_file(const std::filesystem::path& path) {
  return file_beside(path, "series");
}
std::filesystem::path moments_file(const std::filesystem::path& path) {
  return file_beside(path, "moments");
}
std::filesystem::path places_file(const std::filesystem::path& path) {
  return file_beside(path, "places");
}

// When each row is, and of places in a series where it begins there.
Table places_of(const Table& table) {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  const auto add = [&](const char* name, const auto& number_of) {
    Ticks numbers(static_cast<std::size_t>(table.rows()));
    for (std::int64_t row = 0; row < table.rows(); ++row)
      numbers[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(number_of(row));
    fields.push_back(arrow::field(name, arrow::int32()));
    columns.push_back(
        std::make_shared<arrow::Int32Array>(table.rows(), arrow::Buffer::FromVector(std::move(numbers))));
  };
  add(first_key, [&](std::int64_t row) { return span_of(table, row).first; });
  add(last_key, [&](std::int64_t row) { return span_of(table, row).last; });
  if (!table.windows->starts.empty()) add(start_key, [&](std::int64_t row) { return start_of(table, row); });
  return {arrow::Table::Make(arrow::schema(fields), columns, table.rows())};
}

Table moments_of(const NumberRuns<std::int64_t>& rows) {
  const auto numbers = std::make_shared<arrow::Int64Array>(static_cast<std::int64_t>(rows.size()),
                                                           arrow::Buffer::FromVector(rows.laid_out()));
  return {arrow::Table::Make(arrow::schema({arrow::field(moment_row_key, arrow::int64())}), {numbers})};
}

std::shared_ptr<const NumberRuns<std::int64_t>> moments_in_file(const std::filesystem::path& path) {
  const Table table = read_arrow(path);
  const auto column = table.has_column(moment_row_key) ? table.column(moment_row_key) : nullptr;
  if (!column || column->null_count() > 0 || column->type()->id() != arrow::Type::INT64)
    refuse("a table of windows is damaged: {} has no rows", path.filename().string());
  auto rows = std::make_shared<NumberRuns<std::int64_t>>();
  for (const auto& chunk : column->chunks())
    for (const auto number : static_cast<const arrow::Int64Array&>(*chunk)) rows->push_back(*number);
  return rows;
}

// By the rows of the source, as many as are known of.
class Places {
 public:
  explicit Places(const Table& table) : rows_(table.source_rows), count_(table.rows()), kept_(table.rows()) {
    if (!rows_ || rows_->empty()) return;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = -1;
    for (const std::int64_t row : *rows_) {
      least = std::min(least, row);
      most = std::max(most, row);
    }
    if (least < 0 || most >= std::numeric_limits<std::int32_t>::max())
      refuse("a table of windows is damaged: it has impossible rows");
    count_ = most + 1;
  }

  // A column of the kept places, a number for each row of the table.
  NumberRuns<std::int32_t> numbers_in(const Table& places, const char* name) const {
    const auto column = places.has_column(name) ? places.column(name) : nullptr;
    if (!column || column->length() != kept_ || column->null_count() > 0 ||
        column->type()->id() != arrow::Type::INT32)
      refuse("a table of windows is damaged: its rows have no {}", name);
    Ticks numbers(static_cast<std::size_t>(count_));
    std::size_t row = 0;
    for (const auto& chunk : column->chunks())
      for (const auto number : static_cast<const arrow::Int32Array&>(*chunk)) numbers[place(row++)] = *number;
    return NumberRuns<std::int32_t>(numbers);
  }

 private:
  std::size_t place(std::size_t row) const { return rows_ ? static_cast<std::size_t>((*rows_)[row]) : row; }

  std::shared_ptr<const NumberRuns<std::int64_t>> rows_;
  std::int64_t count_;
  std::int64_t kept_;
};

WindowsConfig config_from(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  config::Diagnostics diagnostics("");
  if (json.is_discarded()) refuse("a table of windows is damaged: its settings cannot be read");
  const auto config = config::read<WindowsConfig>(config::from_json(json), "windows", diagnostics);
  diagnostics.refuse_if_any();
  return config;
}

void refuse_places_outside(const Windows& windows) {
  const std::int64_t beyond = windows.series.rows() - windows.config.length;
  for (const std::int32_t start : windows.starts)
    if (start < 0 || start > beyond) refuse("a table of windows is damaged: a window is outside its series");
}

}  // namespace

void tell_of_windows(const Table& table, arrow::KeyValueMetadata& metadata) {
  if (!table.windows) return;
  const auto settings = config::to_json(config::write(table.windows->config));
  metadata.Append(windows_key, settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void write_windows_beside(const Table& table, const std::filesystem::path& path) {
  if (!table.windows) return;
  write_arrow(places_of(table), places_file(path));
  if (table.windows->moment_rows) write_arrow(moments_of(*table.windows->moment_rows), moments_file(path));
  if (!has_windows(table)) return;
  const Windows& windows = *table.windows;
  // Both parts of a split have the same series: one file is enough for them. Files of the cache are never
  // changed, only replaced.
  std::error_code failed = std::make_error_code(std::errc::no_such_file_or_directory);
  if (!windows.series_file.empty())
    std::filesystem::create_hard_link(windows.series_file, series_file(path), failed);
  if (failed) write_arrow(windows.series, series_file(path));
}

void take_windows(Table& table, const arrow::KeyValueMetadata& metadata, const std::filesystem::path& path,
                  std::uint64_t large_bytes) {
  if (!metadata.Contains(windows_key)) return;
  auto windows = std::make_shared<Windows>();
  windows->config = config_from(or_fail(metadata.Get(windows_key), path.string()));
  const Table kept = open_arrow(places_file(path), 1);  // one column at a time
  const Places places(table);
  // Earlier versions wrote none for layout columns.
  if (windows->are_places() || kept.has_column(start_key))
    windows->starts = places.numbers_in(kept, start_key);
  if (windows->are_places()) {
    windows->series = open_arrow(series_file(path), large_bytes);
    windows->series_file = series_file(path);
    refuse_places_outside(*windows);
  } else if (std::filesystem::exists(moments_file(path))) {
    windows->moment_rows = moments_in_file(moments_file(path));
  }
  auto order = std::make_shared<TimeOrder>();
  order->first = places.numbers_in(kept, first_key);
  order->last = places.numbers_in(kept, last_key);
  table.time_order = std::move(order);
  table.windows = std::move(windows);
}

}  // namespace stoker
