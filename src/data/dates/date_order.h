#pragma once

#include <string>

#include "data/table/table.h"

namespace stoker {

// The first column of dates that the rows are in the order of, nearly all of them; several series one after
// another count as well. Empty if there is none, or if many rows share each date, such as a model year.
std::string column_of_dates_in_order(const Table& table);

}  // namespace stoker
