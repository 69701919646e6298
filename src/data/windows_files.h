#pragma once

#include <filesystem>
#include <memory>

#include "data/table.h"

namespace arrow {
class KeyValueMetadata;
class Table;
}  // namespace arrow

// What a table of windows keeps beside its columns: how they were made, where each row begins and when it is,
// and the series in a file of its own.
namespace stoker {

// The table's columns with those of its windows behind them, of which `metadata` tells.
std::shared_ptr<arrow::Table> with_windows_kept(const Table& table, std::shared_ptr<arrow::Table> columns,
                                                arrow::KeyValueMetadata& metadata);
// Writes the series, where there is one, beside the file of the table.
void write_series_beside(const Table& table, const std::filesystem::path& path);
// Takes them off again; the rows that the table is of its source are known. `large_bytes` as in open_arrow().
void take_windows(Table& table, const arrow::KeyValueMetadata& metadata, const std::filesystem::path& path,
                  std::uint64_t large_bytes);

}  // namespace stoker
