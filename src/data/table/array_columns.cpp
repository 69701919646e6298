#include "data/table/array_columns.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.h"

namespace stoker {
namespace {

// Takes "_12" off the end. None where the text does not end like that, or has zeros in front of its number.
std::optional<std::int64_t> take_place(std::string_view& name) {
  const std::size_t before = name.find_last_of('_');
  if (before == std::string_view::npos || before == 0) return std::nullopt;
  const std::string_view digits = name.substr(before + 1);
  std::int64_t place = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), place);
  const bool is_plain = digits.size() == 1 || (!digits.empty() && digits.front() != '0');
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || !is_plain || place < 0 ||
      place > most_array_places)
    return std::nullopt;
  name = name.substr(0, before);
  return place;
}

struct PlacesOfArray {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::set<std::pair<std::int64_t, std::int64_t>> met;
};

std::map<std::string, PlacesOfArray> arrays_with_two_places(const Table& table) {
  std::map<std::string, PlacesOfArray> arrays;
  for (const std::string& name : table.column_names()) {
    std::string_view rest = name;
    const auto column = take_place(rest);
    const auto row = column ? take_place(rest) : std::nullopt;
    if (!row) continue;
    PlacesOfArray& array = arrays[std::string(rest)];
    array.rows = std::max(array.rows, *row + 1);
    array.columns = std::max(array.columns, *column + 1);
    array.met.emplace(*row, *column);
  }
  // Both places of such a name may be part of it: size_2024_1 is none without size_0_0.
  std::erase_if(arrays, [](const auto& array) { return !array.second.met.contains({0, 0}); });
  return arrays;
}

}  // namespace

std::vector<std::string> array_parts(const Table& table, const std::string& name) {
  const std::vector<std::string> all = table.column_names();
  const std::unordered_set<std::string> names(all.begin(), all.end());
  std::vector<std::string> parts;
  for (std::string part = name + "_0"; names.contains(part); part = fmt::format("{}_{}", name, parts.size()))
    parts.push_back(part);
  if (parts.empty()) return parts;
  for (const std::string& column : all) {
    std::string_view rest = column;
    const auto place = take_place(rest);
    if (place && rest == name && *place >= static_cast<std::int64_t>(parts.size()))
      refuse("the array '{}' has a column '{}', but there is no column '{}_{}'", name, column, name,
             parts.size());
  }
  return parts;
}

std::string ArrayOfRows::column(std::int64_t row, std::int64_t column) const {
  return fmt::format("{}_{}_{}", name, row, column);
}

std::optional<ArrayOfRows> array_of_rows(const Table& table, const std::string& name) {
  const auto arrays = arrays_with_two_places(table);
  const auto found = arrays.find(name);
  if (found == arrays.end()) return std::nullopt;
  const ArrayOfRows array{name, found->second.rows, found->second.columns};
  for (std::int64_t row = 0; row < array.rows; ++row)
    for (std::int64_t column = 0; column < array.columns; ++column)
      if (!found->second.met.contains({row, column}))
        refuse("the array '{}' has {} x {} columns in this table, but there is no column '{}'", name,
               array.rows, array.columns, array.column(row, column));
  return array;
}

std::vector<std::string> names_of_arrays_of_rows(const Table& table) {
  std::vector<std::string> names;
  for (const auto& [name, places] : arrays_with_two_places(table)) names.push_back(name);
  return names;
}

}  // namespace stoker
