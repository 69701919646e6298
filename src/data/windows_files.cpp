#include "data/windows_files.h"

#include <algorithm>
#include <limits>
#include <string>
#include <system_error>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/arrow_result.h"
#include "data/time_order.h"
#include "data/windows.h"

namespace stoker {
namespace {

constexpr const char* windows_key = "stoker.windows";  // in the metadata: their settings
constexpr const char* first_key = "stoker.first_tick";
constexpr const char* last_key = "stoker.last_tick";
constexpr const char* start_key = "stoker.start";

using Ticks = std::vector<std::int32_t>;

std::filesystem::path series_file(const std::filesystem::path& path) {
  return path.parent_path() / (path.stem().string() + ".series.arrow");
}

template <class NumberOf>
void append_numbers(const char* name, std::int64_t rows, const NumberOf& number_of,
                    std::shared_ptr<arrow::Table>& columns) {
  Ticks numbers(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) numbers[static_cast<std::size_t>(row)] = number_of(row);
  const auto buffer = arrow::Buffer::FromVector(std::move(numbers));
  columns =
      or_fail(columns->AddColumn(
                  columns->num_columns(), arrow::field(name, arrow::int32()),
                  std::make_shared<arrow::ChunkedArray>(std::make_shared<arrow::Int32Array>(rows, buffer))),
              "keeping windows");
}

// The last column, which must be the one of this name.
Ticks take_numbers(Table& table, const char* name) {
  const int last = table.columns->num_columns() - 1;
  const bool is_it = last >= 0 && table.columns->field(last)->name() == name &&
                     table.columns->field(last)->type()->id() == arrow::Type::INT32;
  if (!is_it) refuse("a table of windows is damaged: it has no {}", name);
  Ticks numbers;
  numbers.reserve(static_cast<std::size_t>(table.rows()));
  const auto kept = table.columns->column(last);
  for (const auto& chunk : kept->chunks()) {
    if (chunk->null_count() > 0) refuse("a table of windows is damaged: {} has missing values", name);
    const auto* values = static_cast<const arrow::Int32Array&>(*chunk).raw_values();
    numbers.insert(numbers.end(), values, values + chunk->length());
  }
  table.columns = or_fail(table.columns->RemoveColumn(last), "reading windows");
  return numbers;
}

// By the rows of the source, as many as are known of.
class Places {
 public:
  explicit Places(const Table& table) : rows_(table.source_rows), count_(table.rows()) {
    if (!rows_ || rows_->empty()) return;
    const auto [least, most] = std::ranges::minmax(*rows_);
    if (least < 0 || most >= std::numeric_limits<std::int32_t>::max())
      refuse("a table of windows is damaged: it has impossible rows");
    count_ = most + 1;
  }
  std::size_t count() const { return static_cast<std::size_t>(count_); }
  std::size_t operator[](std::size_t row) const {
    return rows_ ? static_cast<std::size_t>((*rows_)[row]) : row;
  }

 private:
  std::shared_ptr<const std::vector<std::int64_t>> rows_;
  std::int64_t count_;
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

std::shared_ptr<arrow::Table> with_windows_kept(const Table& table, std::shared_ptr<arrow::Table> columns,
                                                arrow::KeyValueMetadata& metadata) {
  if (!table.windows) return columns;
  const auto settings = config::to_json(config::write(table.windows->config));
  metadata.Append(windows_key, settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  const auto rows = table.rows();
  append_numbers(
      first_key, rows, [&](std::int64_t row) { return span_of(table, row).first; }, columns);
  append_numbers(
      last_key, rows, [&](std::int64_t row) { return span_of(table, row).last; }, columns);
  if (has_windows(table))
    append_numbers(
        start_key, rows, [&](std::int64_t row) { return static_cast<std::int32_t>(start_of(table, row)); },
        columns);
  return columns;
}

void write_series_beside(const Table& table, const std::filesystem::path& path) {
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
  const Places places(table);
  if (windows->are_places()) {
    const Ticks starts = take_numbers(table, start_key);
    windows->series = open_arrow(series_file(path), large_bytes);
    windows->series_file = series_file(path);
    windows->starts.resize(places.count());
    for (std::size_t row = 0; row < starts.size(); ++row) windows->starts[places[row]] = starts[row];
    refuse_places_outside(*windows);
  }
  const Ticks last = take_numbers(table, last_key);
  const Ticks first = take_numbers(table, first_key);
  auto order = std::make_shared<TimeOrder>();
  order->spans.resize(places.count());
  for (std::size_t row = 0; row < first.size(); ++row) order->spans[places[row]] = {first[row], last[row]};
  table.time_order = std::move(order);
  table.windows = std::move(windows);
}

}  // namespace stoker
