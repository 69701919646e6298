#include "predict/rows_to_predict.h"

#include <arrow/table.h>

#include "data/kept_columns.h"

namespace stoker {

Table rows_to_predict(const Model& model, const Table& table, FramedRows framed, const Notes& notes) {
  if (model.preparation.windows() == nullptr || table.windows) return table;
  WindowsConfig config = *model.preparation.windows();
  if (model.preparation.reads_windows()) config.feature_columns = model.preparation.column_names();
  return frame_series(table, config, framed, notes);
}

Table times_and_groups(const Table& rows) {
  std::vector<int> positions;
  if (rows.windows)
    for (const std::string& name : {rows.windows->config.time_column, rows.windows->config.group_column})
      if (!name.empty()) positions.push_back(column_position(rows, name));
  return {chosen_columns(rows.columns, positions)};
}

}  // namespace stoker
