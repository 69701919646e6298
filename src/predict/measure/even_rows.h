#pragma once

#include <cstdint>

#include "data/table/table.h"

namespace stoker {

// At most so many, evenly spaced over all rows.
Table even_rows(const Table& table, std::int64_t most);

}  // namespace stoker
