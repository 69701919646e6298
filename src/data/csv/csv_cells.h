#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// The first rows of a CSV text, for a look at how they are written.
namespace stoker {

using CsvCells = std::vector<std::string>;

// The rows that lie whole in the text, cut at this delimiter; at most 500. Empty lines are no rows.
// `is_cut`: the file goes on behind the text.
std::vector<CsvCells> cut_rows(std::string_view text, char delimiter, bool is_cut);

// The values of every row, when that is one number; 0 for ragged rows.
std::size_t width_of(const std::vector<CsvCells>& rows);

}  // namespace stoker
