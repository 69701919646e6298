#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv/csv_dialect.h"
#include "data/table/column_values.h"
#include "data/table/table.h"

// The formats that Arrow reads by itself, and the checks that every table from outside goes through.
namespace stoker {

Table read_arrow_file(const std::filesystem::path& path);  // of anyone
Table read_parquet(const std::filesystem::path& path);
// Types are inferred, but for `text_columns`, which stay text; names that the file lacks do not matter.
Table read_csv(const std::filesystem::path& path, const CsvDialect& dialect,
               const std::vector<std::string>& text_columns = {});
// Of its rows those that lie whole within the first `bytes` of the text. Faults behind them are not seen.
Table read_csv_start(const std::filesystem::path& path, const CsvDialect& dialect,
                     const std::vector<std::string>& text_columns, std::int64_t bytes);
// One object of plain values to a line, or an array of such objects. Of `text_columns`, texts that look like
// times stay text.
Table read_json_lines(const std::filesystem::path& path, const std::vector<std::string>& text_columns = {});
// Sparse rows are refused.
Table read_arff(const std::filesystem::path& path);
bool is_arff(std::string_view start);  // by the start of the file's text
Table read_npy(const std::filesystem::path& path);

// Gives nameless columns a name, and refuses equal names, no columns and no rows.
Table checked_columns(Table table, const std::string& name);
// What its columns hold, for who demands something of them.
struct KindOfColumn {
  std::string name;
  ColumnKind kind = ColumnKind::unsupported;
  std::string type;  // as Arrow calls it
};
std::vector<KindOfColumn> kinds_of_columns(const Table& table);

}  // namespace stoker
