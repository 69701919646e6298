#pragma once

#include "base/notes.h"
#include "data/table.h"
#include "data/windows.h"
#include "model/model.h"

namespace stoker {

// What a model predicts of a table: its rows, or where the model was trained on rows made of series and the
// table is one, the windows of it, with their times and groups as columns. `framed` says which of them; that
// of every window is for who wants to see how a model would have done.
Table rows_to_predict(const Model& model, const Table& table, FramedRows framed, const Notes& notes);

// What people know such rows by: the time of the last moment and the group, as far as there are any. Of other
// rows, no column.
Table times_and_groups(const Table& rows);

}  // namespace stoker
