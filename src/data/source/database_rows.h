#pragma once

#include <memory>

#include "data/source/source_config.h"
#include "data/table/table.h"
#include "database/columns.h"

namespace stoker {

// The rows as a table that shares their memory. `description` names them where a text is not UTF-8.
Table table_of_rows(const std::shared_ptr<const database::Rows>& rows, ArrayChoice arrays,
                    const std::string& description);

// Each array of fixed shape in a column becomes a column for each of its numbers: x_0, x_1, … or x_0_0, ….
Table with_spread_arrays(const Table& table);

}  // namespace stoker
