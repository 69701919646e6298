#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/table/table.h"

// An array of each row, as it stands in a table: a column for each of its values, named by their places from
// 0 on, NAME_0, NAME_1, … or NAME_0_0, NAME_0_1, …, as arrays of a database are read.
namespace stoker {

constexpr std::int64_t most_array_places = 65'536;  // in each of its dimensions

// Those of an array of one dimension, in order; none where the table has no such array.
std::vector<std::string> array_parts(const Table& table, const std::string& name);

struct ArrayOfRows {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::string column(std::int64_t row, std::int64_t column) const;
};
// An array of two dimensions; none where the table has none of that name. Refuses one with gaps.
std::optional<ArrayOfRows> array_of_rows(const Table& table, const std::string& name);
// The names of all that the table has.
std::vector<std::string> names_of_arrays_of_rows(const Table& table);

}  // namespace stoker
