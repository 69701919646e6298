#pragma once

#include <filesystem>
#include <string>

#include "data/table/table.h"
#include "device/array.h"

namespace arrow {
class KeyValueMetadata;
}

// What a table of cubes keeps beside its columns: in two files in NumPy's form the values and the masks, and
// in one of JSON what is known of them. They are mapped when the table is read again.
namespace stoker {

// Tells of them in the metadata of the table's columns.
void tell_of_cubes(const Table& table, arrow::KeyValueMetadata& metadata);
// Writes them into files beside that of the table.
void write_cubes_beside(const Table& table, const std::filesystem::path& path);
// Gives the table what was told of; which rows it is of its source is known.
void take_cubes(Table& table, const arrow::KeyValueMetadata& metadata, const std::filesystem::path& path);

// What comes before the numbers of an array of float32 or uint8 in NumPy's form.
std::string npy_start(DType type, const Shape& shape);
// Such an array, written atomically.
void write_npy(const Array& array, const std::filesystem::path& path);

}  // namespace stoker
