#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/notes.h"
#include "data/table/table.h"
#include "data/windows/windows_config.h"

namespace arrow {
class ChunkedArray;
class Field;
}  // namespace arrow

namespace stoker {

using NewColumn = std::pair<std::shared_ptr<arrow::Field>, std::shared_ptr<arrow::ChunkedArray>>;

// The answers to the windows whose last moments these are, in a table whose rows are in the order of the
// series. Windows without one are removed from the list, and told of.
std::vector<NewColumn> answers_of(const Table& sorted, const WindowsConfig& config,
                                  std::vector<std::int64_t>& last_moments, const Notes& notes);

// 1 where a row has no value.
std::vector<std::uint8_t> missing_values_in(const std::shared_ptr<arrow::ChunkedArray>& column);

// Of a column, what stands `ahead` rows after each of these.
std::shared_ptr<arrow::ChunkedArray> values_at(const std::shared_ptr<arrow::ChunkedArray>& column,
                                               const std::vector<std::int64_t>& rows, std::int64_t ahead);

}  // namespace stoker
