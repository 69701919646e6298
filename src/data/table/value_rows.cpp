#include "data/table/value_rows.h"

#include <string_view>
#include <unordered_map>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "base/error.h"
#include "data/table/column_values.h"

namespace stoker {

std::vector<ValueRows> rows_by_value(const Table& table, const std::string& column) {
  const auto values = table.column(column);
  if (kind_of(*values->type()) == ColumnKind::unsupported) {
    refuse("column '{}' has type {}, which cannot be used to tell rows apart", column,
           values->type()->ToString());
  }
  const TextValues texts = read_texts(values);
  std::vector<ValueRows> result;
  std::unordered_map<std::string_view, std::size_t> position;
  std::size_t missing = SIZE_MAX;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    std::size_t* place = &missing;
    if (texts.missing[row] == 0) place = &position.try_emplace(texts.values[row], SIZE_MAX).first->second;
    if (*place == SIZE_MAX) {
      *place = result.size();
      result.push_back({texts.missing[row] != 0 ? "(missing)" : std::string(texts.values[row]), {}});
    }
    result[*place].rows.push_back(static_cast<std::int64_t>(row));
  }
  return result;
}

}  // namespace stoker
