#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace arrow {
class Table;
}

namespace stoker {

// Columns of one length, as Arrow holds them. Cheap to copy.
struct Table {
  std::shared_ptr<arrow::Table> columns;
  // Where this is a part of what was read: which row of it each row is, from 0. None: all of it, in order.
  std::shared_ptr<const std::vector<std::int64_t>> source_rows = {};
  std::string group_column = {};  // by which a split kept its rows together

  std::int64_t rows() const;
  std::uint64_t bytes() const;  // in memory, of all columns
  std::vector<std::string> column_names() const;
  bool has_column(const std::string& name) const;
  // For people: the row as counted from 1 in what was read, whatever part of it this table is.
  std::int64_t row_number(std::int64_t row) const;
};

// Refuses with the nearest name when there is no such column. Returns its position.
int column_position(const Table& table, const std::string& name);

// Those of the names that are columns of another type than text.
std::vector<std::string> columns_not_text(const Table& table, const std::vector<std::string>& names);

Table take_rows(const Table& table, const std::vector<std::int64_t>& rows);

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
};
Preview preview(const Table& table);

// Arrow IPC, for the cache: what a table knows of its source comes back too. Written atomically.
void write_arrow(const Table& table, const std::filesystem::path& path);
Table read_arrow(const std::filesystem::path& path);
// .csv, .tsv, .parquet, .arrow/.feather by the name's ending. Written atomically.
void write_table(const Table& table, const std::filesystem::path& path);

}  // namespace stoker
