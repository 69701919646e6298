#include "data/windows/carry_forward.h"

#include <numeric>

#include <arrow/table.h>

#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"
#include "data/table/column_values.h"
#include "data/windows/window_answers.h"

namespace stoker {

Table carried_forward(const Table& sorted, const std::vector<std::string>& columns,
                      const std::vector<SeriesOrder::Group>& groups) {
  Table filled = sorted;
  for (const std::string& name : columns) {
    const auto column = sorted.column(name);
    if (kind_of(*column->type()) == ColumnKind::unsupported) continue;  // no feature, which is told elsewhere
    const std::vector<std::uint8_t> missing = missing_values_in(column);
    if (std::accumulate(missing.begin(), missing.end(), std::int64_t{0}) == 0) continue;
    std::vector<std::int64_t> rows(missing.size());
    for (const SeriesOrder::Group& group : groups) {
      std::int64_t known = -1;
      for (std::int64_t moment = group.begin; moment < group.end; ++moment) {
        if (missing[static_cast<std::size_t>(moment)] == 0) known = moment;
        rows[static_cast<std::size_t>(moment)] = known < 0 ? moment : known;
      }
    }
    const int position = column_position(filled, name);
    filled.columns = or_fail(
        in_memory(filled.columns)
            ->SetColumn(position, sorted.columns->schema()->GetFieldByName(name), values_at(column, rows, 0)),
        "filling in what is missing of a series");
  }
  return filled;
}

std::vector<std::pair<std::string, std::int64_t>> carried_at_ends(
    const Table& sorted, const std::vector<std::string>& columns,
    const std::vector<SeriesOrder::Group>& groups) {
  std::vector<std::pair<std::string, std::int64_t>> carried;
  for (const std::string& name : columns) {
    const auto column = sorted.column(name);
    if (kind_of(*column->type()) == ColumnKind::unsupported) continue;
    const std::vector<std::uint8_t> missing = missing_values_in(column);
    std::int64_t count = 0;
    for (const SeriesOrder::Group& group : groups) {
      std::int64_t end = group.end;
      while (end > group.begin && missing[static_cast<std::size_t>(end - 1)] != 0) --end;
      if (end > group.begin) count += group.end - end;  // a group that knows none has nothing to carry
    }
    if (count > 0) carried.emplace_back(name, count);
  }
  return carried;
}

}  // namespace stoker
