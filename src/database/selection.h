#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stoker::database {

// What to read of a database: a table, or what a query of one SELECT gives.
struct Selection {
  std::string table = {};
  std::string query = {};
  std::vector<std::string> columns = {};  // none: all
  std::string where = {};                 // a condition of SQL
  std::optional<int> partitions = {};     // connections at a time; none: as many as pay
  std::string partition_column = {};      // whole numbers, whose ranges divide the rows of a query or a view
};

// A name as SQL takes it for exactly that.
std::string quoted_name(const std::string& name);

// For people: "table wells", "query".
std::string shown_selection(const Selection& selection);

// The query without blanks and semicolons at its end: with them it is still one statement. Refuses one of
// nothing else; without a query there is no statement.
std::string statement_of(const std::string& query);

// SELECT of some of the columns that `rows` has, which is a table or a query in brackets. The condition
// stands on lines of its own, so that a comment in it ends.
std::string select_text(const std::string& rows, const std::vector<std::string>& columns,
                        const std::vector<std::string>& conditions);

// Refuses the first of the columns that is not among those that are there.
void refuse_missing_columns(const Selection& selection, const std::vector<std::string>& there);

}  // namespace stoker::database
