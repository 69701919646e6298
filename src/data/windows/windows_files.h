#pragma once

#include <filesystem>

#include "data/table/table.h"

namespace arrow {
class KeyValueMetadata;
}

// What a table of windows keeps beside its columns: how they were made, in a file where each row begins and
// when it is, and in another the series.
namespace stoker {

// Tells of them in the metadata of the table's columns.
void tell_of_windows(const Table& table, arrow::KeyValueMetadata& metadata);
// Writes the rest into files beside that of the table.
void write_windows_beside(const Table& table, const std::filesystem::path& path);
// Gives the table what was told of; which rows it is of its source is known. `large_bytes` as in
// open_arrow().
void take_windows(Table& table, const arrow::KeyValueMetadata& metadata, const std::filesystem::path& path,
                  std::uint64_t large_bytes);

}  // namespace stoker
