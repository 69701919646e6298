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

  std::int64_t rows() const;
  std::vector<std::string> column_names() const;
  bool has_column(const std::string& name) const;
};

// Refuses with the nearest name when there is no such column. Returns its position.
int column_position(const Table& table, const std::string& name);

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

// Arrow IPC, for the cache. Written atomically.
void write_arrow(const Table& table, const std::filesystem::path& path);
Table read_arrow(const std::filesystem::path& path);
// .csv, .tsv, .parquet, .arrow/.feather by the name's ending. Written atomically.
void write_table(const Table& table, const std::filesystem::path& path);

}  // namespace stoker
