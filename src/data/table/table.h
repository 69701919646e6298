#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/memory/number_runs.h"

namespace arrow {
class ChunkedArray;
class Table;
}  // namespace arrow

namespace stoker {

struct Cubes;
struct CubesLook;
struct TimeOrder;
struct Windows;

// Columns of one length, as Arrow holds them. Cheap to copy. Those of a large table that is kept in a file
// come when they are asked for (kept_columns.h): who asks for one holds it as long as it is used.
struct Table {
  std::shared_ptr<arrow::Table> columns;
  // Where this is a part of what was read: which row of it each row is, from 0. None: all of it, in order.
  std::shared_ptr<const NumberRuns<std::int64_t>> source_rows = {};
  std::string group_column = {};  // by which a split kept its rows together
  // When each row of what was read is (time_order.h), and the series that rows are windows of (windows.h);
  // none of a table whose rows are neither.
  std::shared_ptr<const TimeOrder> time_order = {};
  std::shared_ptr<const Windows> windows = {};
  // Where the source says by itself which rows are to test with: those of what was read from this one on.
  std::optional<std::int64_t> first_test_row = {};
  std::shared_ptr<const Cubes> cubes = {};  // where the rows are hyperspectral cubes (cubes.h)

  std::int64_t rows() const;
  std::uint64_t bytes() const;  // in memory, of all columns
  std::vector<std::string> column_names() const;
  bool has_column(const std::string& name) const;
  // Refuses with the nearest name when there is none of that name.
  std::shared_ptr<arrow::ChunkedArray> column(const std::string& name) const;
  // For people: the row as counted from 1 in what was read, whatever part of it this table is.
  std::int64_t row_number(std::int64_t row) const;
};

// Refuses with the nearest name when there is no such column. Returns its position.
int column_position(const Table& table, const std::string& name);

// Those of the names that are columns of another type than text.
std::vector<std::string> columns_not_text(const Table& table, const std::vector<std::string>& names);

Table take_rows(const Table& table, std::vector<std::int64_t> rows);

// What a person wants to see first of a table.
struct Preview {
  struct Column {
    std::string name;
    std::string type;  // "int64", "double", "string", …
    std::int64_t nulls = 0;
  };
  std::int64_t rows = 0;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> first_rows;  // at most 100, as text; missing values are ""
  std::shared_ptr<const CubesLook> cubes = {};       // of rows that are cubes
};
Preview preview(const Table& table);
// A value as a preview shows it.
std::string shown_value(const arrow::ChunkedArray& column, std::int64_t row);

// Arrow IPC, for the cache: what a table knows of its source comes back too. Written atomically.
void write_arrow(const Table& table, const std::filesystem::path& path);
Table read_arrow(const std::filesystem::path& path);
// The same, but the columns of a table of this size and more stay in the file until they are asked for.
constexpr std::uint64_t large_table_bytes = std::uint64_t{64} << 20;
Table open_arrow(const std::filesystem::path& path, std::uint64_t large_bytes = large_table_bytes);
// Whether it is all in memory, and one that open_arrow() would leave in its file.
bool is_large(const Table& table);
// .csv, .tsv, .parquet, .arrow/.feather by the name's ending. Written atomically.
void write_table(const Table& table, const std::filesystem::path& path);

}  // namespace stoker
