#include "data/prepare/category_slots.h"

#include <string_view>
#include <unordered_map>

#include <arrow/chunked_array.h>

#include "data/table/column_values.h"

namespace stoker {

std::vector<std::int32_t> slots_of(const PreparedColumn& column,
                                   const std::shared_ptr<arrow::ChunkedArray>& values,
                                   std::int64_t& missing) {
  std::unordered_map<std::string_view, std::int32_t> slot;
  slot.reserve(column.categories.size());
  for (const std::string& category : column.categories) {
    slot.emplace(category, static_cast<std::int32_t>(slot.size()));
  }
  const auto unseen = static_cast<std::int32_t>(column.categories.size());
  const TextValues texts = read_texts(values);
  std::vector<std::int32_t> slots(texts.values.size());
  for (std::size_t row = 0; row < slots.size(); ++row) {
    missing += texts.missing[row];
    const auto found =
        slot.find(texts.missing[row] != 0 ? std::string_view(column.fill_text) : texts.values[row]);
    slots[row] = found == slot.end() ? unseen : found->second;
  }
  return slots;
}

}  // namespace stoker
