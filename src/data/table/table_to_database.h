#pragma once

#include <string>

#include "data/table/table.h"
#include "database/writable.h"

namespace stoker {

// Writes the rows as a new table of a database; the caller's transaction makes it all or nothing. Arrays go
// to arrays of PostgreSQL, and as text ([1, 2]) into columns of SQLite that are declared as ARRAY. Refuses a
// table of that name, and types that a database does not have. `origin` says what the table was made by, and
// is kept with it in a comment.
void write_to_database(const Table& table, database::WritableDatabase& database, const std::string& name,
                       const std::string& origin);
// Empty where the table has none.
std::string origin_of_table(database::WritableDatabase& database, const std::string& name);

}  // namespace stoker
