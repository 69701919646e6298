#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/prepare/preparation_config.h"

namespace arrow {
class ChunkedArray;
}

namespace stoker {

// Which of a text column's categories each row has, a missing value that which fills it in; the number of
// categories where it is none of them. Adds how many are missing.
std::vector<std::int32_t> slots_of(const PreparedColumn& column,
                                   const std::shared_ptr<arrow::ChunkedArray>& values, std::int64_t& missing);

}  // namespace stoker
