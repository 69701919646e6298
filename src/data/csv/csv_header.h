#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/notes.h"
#include "config/field.h"
#include "data/csv/csv_cells.h"
#include "data/csv/number_spelling.h"

namespace stoker {

enum class HeaderChoice { automatic, yes, no };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::HeaderChoice>{"auto", "yes",
                                                                                             "no"};

namespace stoker {

// Whether the first of the rows holds values like all others instead of names, by what the rows show: it has
// numbers where the others have them, or its words stand again below it. Notes what was found; when in doubt
// it holds names.
bool lacks_header(const std::vector<CsvCells>& rows, HeaderChoice choice, NumberSpelling spelling,
                  const Notes& notes);

}  // namespace stoker
