#include "predict/rows/rows_to_predict.h"

#include <algorithm>

#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"

namespace stoker {
namespace {

// Columns of a slower table that the series should have and does not.
void refuse_without_slower(const Table& series, const WindowsConfig& config) {
  for (const std::string& name : config.slower.slower_names)
    for (const std::string& column : config.feature_columns)
      if (column.starts_with(name + "_") && !series.has_column(column))
        refuse(
            "the model reads '{}', which comes from the slower table {}; give it with the series as in the "
            "training: --slower {}=FILE for each of {}, or connect slower of the card",
            column, name, name, join(config.slower.slower_names, ", "));
}

Table with_slower(const Table& series, const std::vector<Table>& slower, const WindowsConfig& config,
                  const Notes& notes) {
  const std::vector<std::string>& names = config.slower.slower_names;
  if (slower.empty()) {
    refuse_without_slower(series, config);
    return series;
  }
  if (names.empty()) refuse("the model was trained without slower tables, so it has no use for one");
  if (names.size() != slower.size())
    refuse("the model was trained with {}, {}, but {} given", counted(names.size(), "slower table"),
           join(names, ", "), slower.size() == 1 ? "one is" : fmt::format("{} are", slower.size()));
  return join_slower_tables(series, slower, config.slower, config.time_column, config.group_column, notes);
}

}  // namespace

Table rows_to_predict(const Model& model, const Table& table, FramedRows framed, const Notes& notes,
                      const std::vector<Table>& slower) {
  if (model.preparation.windows() == nullptr || table.windows) {
    if (!slower.empty()) refuse("slower tables go with a series, but what is predicted are rows");
    return table;
  }
  WindowsConfig config = *model.preparation.windows();
  if (model.preparation.reads_windows()) {
    config.feature_columns = model.preparation.column_names();
    // Its last value is what predictions are told from, though the model may not read it.
    const bool has_target =
        std::ranges::find(config.feature_columns, config.target_column) != config.feature_columns.end();
    if (model.preparation.is_relative() && !has_target)
      config.feature_columns.push_back(config.target_column);
  }
  return frame_series(with_slower(table, slower, config, notes), config, framed, notes);
}

std::vector<std::string> slower_names_of(const Model& model) {
  const WindowsConfig* windows = model.preparation.windows();
  return windows == nullptr ? std::vector<std::string>() : windows->slower.slower_names;
}

std::vector<std::string> shown_values(const Table& table, const std::string& column) {
  const auto values = table.column(column);
  std::vector<std::string> texts;
  for (std::int64_t row = 0; row < table.rows(); ++row)
    texts.push_back(or_fail(values->GetScalar(row), "reading a value")->ToString());
  return texts;
}

Table times_and_groups(const Table& rows) {
  std::vector<int> positions;
  if (rows.windows)
    for (const std::string& name : {rows.windows->config.time_column, rows.windows->config.group_column})
      if (!name.empty()) positions.push_back(column_position(rows, name));
  return {chosen_columns(rows.columns, positions)};
}

}  // namespace stoker
