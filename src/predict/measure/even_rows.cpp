#include "predict/measure/even_rows.h"

#include <utility>
#include <vector>

namespace stoker {

Table even_rows(const Table& table, std::int64_t most) {
  if (table.rows() <= most) return table;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(most));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i) * table.rows() / most;
  return take_rows(table, std::move(rows));
}

}  // namespace stoker
