#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

// Times to their last digit: one double cannot tell moments of our days apart that lie closer than a fifth of
// a microsecond.
namespace stoker {

std::int64_t parts_of_second(arrow::TimeUnit::type unit);

// The times of a column as the whole numbers that they are kept as.
struct WholeTimes {
  std::vector<std::int64_t> values;
  std::int64_t in_a_second = 1;  // of a unit of the values; 1 where they are plain numbers
};
// Of a column without missing values; nothing where it holds no timestamps and no int64.
std::optional<WholeTimes> whole_times(const std::shared_ptr<arrow::ChunkedArray>& column);

}  // namespace stoker
