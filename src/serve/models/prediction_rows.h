#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/prepare/cells.h"

namespace stoker::serve {

// The rows of a request for predictions.
struct PredictionRows {
  std::vector<Cell> cells;  // [rows, columns] of those that were asked for
  std::size_t rows = 0;
  std::vector<std::string> unknown;  // columns that nobody asked for
};

// {"rows": [{column: value, …}, …]}, where lists stand for the columns NAME_0, NAME_1, …, or
// {"columns": [name, …], "data": [[value, …], …]}. A value that a row lacks is missing. Throws HttpError for
// what is neither, and for a column that no row has, with the nearest name.
PredictionRows rows_in_json(std::string_view body, const std::vector<std::string>& columns);

// "'intervals' is unknown…"; says of a parameter of the address that it is one.
[[noreturn]] void refuse_key(const std::string& name);

// With a 422 that tells the two forms.
[[noreturn]] void refuse_shape(const std::string& what);

}  // namespace stoker::serve
