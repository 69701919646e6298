#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/notes.h"
#include "data/dates/date_form.h"
#include "data/table/table.h"

// Columns of text that hold dates become columns of time, in UTC, whatever file they come from.
namespace stoker {

using DateForms = std::map<std::string, std::string>;  // by column, such as "%d/%m/%Y"

struct DateSettings {
  DateForms set = {};     // by a person: what has another form counts as missing
  DateForms learnt = {};  // of a model's training: tried before all others
  std::vector<std::string> kept_as_text = {};
};

// Dates are found where every value of a column has one usual form. Where two forms fit, which differ in
// whether the day or the month comes first, the column stays text and a warning says how to set it. Refuses
// names of `set` that the table lacks and columns of which no value has the form.
Table with_dates(const Table& table, const DateSettings& settings, const Notes& notes);

// The moment that one text is: in the form that was learnt (null: none was), else in the only usual form that
// it has. None where it has none, or more than one.
std::optional<DateTime> moment_of_text(std::string_view text, const DateForm* learnt);

// Columns that should hold dates and were read as something else, as 20190206 is as a number.
std::vector<std::string> columns_neither_text_nor_dates(const Table& table, const DateForms& forms);

// The form that the column's dates were written in; empty for all other columns.
std::string date_form_of(const Table& table, const std::string& column);

// The form of dates that a join leaves behind, kept with a column that stays: `left` is what those would have
// been called. Empty where none is known.
Table with_form_beside(const Table& table, const std::string& column, const std::string& left,
                       const std::string& form);
std::string date_form_beside(const Table& table, const std::string& column, const std::string& left);

}  // namespace stoker
