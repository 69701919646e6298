#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/notes.h"
#include "data/memory/number_runs.h"
#include "data/table/table.h"
#include "data/windows/windows_config.h"
#include "device/array.h"

// A series as rows to learn from: each row is a window, some moments one behind the other, with the answer
// that is to be told from it. Windows are never copied out of the series: a window is the place where it
// begins.
namespace stoker {

// How the rows of a table were made of series, and for windows what they are made of.
struct Windows {
  WindowsConfig config;
  Table series = {};                     // its moments, with the columns to predict from
  NumberRuns<std::int32_t> starts = {};  // of each row (by Table::source_rows), a row of the series
  // Layout columns: the row of each moment in what was read, from 0; null: the moments are all its rows in
  // order.
  std::shared_ptr<const NumberRuns<std::int64_t>> moment_rows = {};
  std::filesystem::path series_file = {};  // that the cache keeps it in, if any

  // Else each row has its moments as columns of its own.
  bool are_places() const { return config.layout == WindowLayout::windows; }
};

// Whether its rows are windows, for a model that reads these.
bool has_windows(const Table& table);
// The row in what was read, from 1, that holds a value of this column in this row. Windows of a series take
// each value from another row; for other tables it is the row itself.
std::int64_t row_number_in(const Table& table, std::int64_t row, const std::string& column);
// The moment of the series that a row of such a table begins with.
std::int64_t start_of(const Table& table, std::int64_t row);

enum class FramedRows {
  to_learn,  // every window whose answer is known, `stride` apart
  every,     // every window, without answers
  last,      // the last one of each series, without an answer: the forecast after its end
};

// The table of windows: the answers under the target column's name, the time of each window's last moment and
// its group; each with its place in time. Refuses what no window can be made of, and tells what is left out.
Table frame_series(const Table& table, const WindowsConfig& config, FramedRows rows, const Notes& notes);

// What windows read, without what lies between them.
struct CoveredMoments {
  Table moments;
  Array starts;  // of each row of the table, among the moments: int64
};
CoveredMoments covered_moments(const Table& table);

// The columns that answers to `target` stand in.
std::vector<std::string> target_parts(const Table& table, const std::string& target);

}  // namespace stoker
