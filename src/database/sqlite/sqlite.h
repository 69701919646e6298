#pragma once

#include <filesystem>

#include "base/process/stop.h"
#include "database/columns.h"
#include "database/selection.h"

namespace stoker::database {

// All rows of the selection of an SQLite file, which is opened to be read alone: nothing is written next to
// it, unless another program is in the middle of writing to it (a write-ahead log with content). Of a file of
// one table, that table where the selection names none. Refuses a query that is not one SELECT, tables and
// columns that are not there, bytes, a file that is damaged or that somebody else writes to.
Rows read_sqlite(const std::filesystem::path& file, const Selection& selection, const StopSignal* stop);

}  // namespace stoker::database
