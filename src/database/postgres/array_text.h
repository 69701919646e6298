#pragma once

#include <string>
#include <vector>

#include "database/columns.h"

namespace stoker::database {

// SQLite has no arrays: a column that is declared as ARRAY holds them as text, [1, 2] or [[1, 2], [3, 4]],
// numbers and null, all of one shape. Makes arrays of such columns, which hold numbers of 4 bytes where the
// declared type says REAL too. Throws RowProblem.
bool is_array_type(const std::string& declared);
void read_array_texts(Rows& rows, std::size_t column, const std::string& declared);

}  // namespace stoker::database
