#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/notes.h"
#include "config/field.h"
#include "data/dates/date_columns.h"
#include "data/table/table.h"

namespace stoker {

// What the time of a bar says: when it began, or when it was over and all of it known.
enum class Stamp { open, close };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::Stamp>{"open", "close"};

namespace stoker {

struct AsOf {
  std::string time_column;   // of both tables
  std::string group_column;  // of the faster table; empty: it is one series
  std::string prefix;        // h1 makes h1_close of the slower table's column close
  Stamp stamp = Stamp::open;
};

// The settings of several slower tables, as cards have them.
struct SlowerConfig {
  std::vector<std::string> slower_names;
  Stamp slower_stamp = Stamp::open;
};

inline config::Fields fields(SlowerConfig& c) {
  return {
      config::field("slower_names", c.slower_names,
                    "Names of the tables connected to slower, in their order: h1 makes h1_close of a column "
                    "close; empty: slower1, slower2, …"),
      config::field("slower_stamp", c.slower_stamp,
                    "What the times of slower rows say. open: when each begins, so that a row is known only "
                    "once the next has begun. close: when it is over, so that it is known from then on"),
  };
}

// The names of so many tables: those that are set, or slower1, slower2, …. Refuses another number of names.
std::vector<std::string> names_of_slower(const SlowerConfig& config, std::size_t tables);

// The faster table with the columns of a slower one (hours beside quarters of an hour) as they were known at
// the time of each row: those of the newest slower row that is not later. Where a slower row is stamped with
// its opening, it is known only once the next of its series has begun, whatever the time between them; the
// last one once it has lasted as long as they usually do. What was not known yet is missing.
//
// Each group has the rows of the same group of the slower table, or all of them where that has no such
// column. The faster rows may have any order. Refuses times of the slower table that do not rise from row to
// row within a group, times that are missing or of another kind than those of the other table (a time of day
// without a zone beside moments with one), and names of columns that are there already. The form in which the
// slower table's dates were written goes with the column of the times (date_form_beside).
Table join_as_of(const Table& faster, const Table& slower, const AsOf& how, const Notes& notes);

// What the joined table calls a column of the slower one under this name, and the other way round: "" where
// the joined column comes from elsewhere. Columns of time and groups are not joined, but what is known of
// them is called so too.
std::string joined_name(const std::string& slower, const std::string& column);
std::string name_in_slower(const std::string& slower, const std::string& joined);
// Of what is known of joined columns, what is about those of one slower table, by their names there.
std::vector<std::string> names_in_slower(const std::string& slower, const std::vector<std::string>& joined);
DateForms forms_in_slower(const std::string& slower, const DateForms& joined);

// The same with any number of slower tables, each under its name.
Table join_slower_tables(Table table, const std::vector<Table>& slower, const SlowerConfig& config,
                         const std::string& time_column, const std::string& group_column, const Notes& notes);

}  // namespace stoker
