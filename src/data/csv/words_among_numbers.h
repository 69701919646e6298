#pragma once

#include <string>
#include <vector>

#include "base/notes.h"
#include "data/csv/number_spelling.h"
#include "data/table/table.h"

namespace stoker {

// Columns of text become numbers where every value is a number in this spelling or a word for a missing one,
// and columns without a type where there is nothing but those. Columns of `kept_as_text` stay. Notes which
// words count as missing in which columns.
Table with_missing_words(Table table, NumberSpelling spelling, const std::vector<std::string>& kept_as_text,
                         const Notes& notes);

}  // namespace stoker
