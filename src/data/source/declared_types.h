#pragma once

#include <string>
#include <vector>

#include "base/notes.h"
#include "data/table/table.h"

// Where the look of the values does not settle what a column is, a person does.
namespace stoker {

// Columns of `text_columns` become text, those of `number_columns` numbers; a value there that is no number
// counts as missing, and a warning says how many. Refuses names that the table lacks or that stand in both.
Table with_declared_types(const Table& table, const std::vector<std::string>& text_columns,
                          const std::vector<std::string>& number_columns, const Notes& notes);

// A column of numbers with a few slips in it is text to every reader. Warns of each that is in neither list.
void warn_of_slips(const Table& table, const std::vector<std::string>& chosen_as_text, const Notes& notes);

}  // namespace stoker
