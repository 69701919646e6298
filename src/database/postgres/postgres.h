#pragma once

#include <string>

#include "base/process/stop.h"
#include "database/columns.h"
#include "database/selection.h"

namespace stoker::database {

// All rows of the selection, in one state of the database, in the same order each time while nothing is
// written to it. `address` is that of PostgresConnection. Refuses a query that is not one SELECT, tables and
// columns that are not there, types that cannot be read, arrays of several shapes.
Rows read_postgres(const std::string& address, const Selection& selection, const StopSignal* stop);

}  // namespace stoker::database
