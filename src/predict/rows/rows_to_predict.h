#pragma once

#include <string>
#include <vector>

#include "base/notes.h"
#include "data/table/table.h"
#include "data/windows/windows.h"
#include "model/model.h"

namespace stoker {

// What a model predicts of a table: its rows, or where the model was trained on rows made of series and the
// table is one, the windows of it, with their times and groups as columns. `framed` says which of them; that
// of every window is for who wants to see how a model would have done. `slower` are the tables that go with
// the series, in the order of the names that the model has for them, joined as in the training; none where
// the series has their columns already. Refuses what the model was not trained with, and says what is
// missing.
Table rows_to_predict(const Model& model, const Table& table, FramedRows framed, const Notes& notes,
                      const std::vector<Table>& slower = {});

// The names of the slower tables that the model's series was joined with, in their order.
std::vector<std::string> slower_names_of(const Model& model);

// What people know such rows by: the time of the last moment and the group, as far as there are any. Of other
// rows, no column.
Table times_and_groups(const Table& rows);

// The values of a column as people read them: dates as dates, not as seconds.
std::vector<std::string> shown_values(const Table& table, const std::string& column);

}  // namespace stoker
