#pragma once

#include <algorithm>
#include <cstdint>

namespace stoker::torch_door {

// Rows of a slice whose widest layer is to have about so many values. Of a wide layer it is more than that,
// so that each weight that is read serves several rows (a recurrent layer reads all of its own at every
// moment), until the memory would be out of proportion.
inline std::int64_t rows_of_slice(std::int64_t values, std::int64_t widest) {
  constexpr std::int64_t worthwhile_rows = 64;
  constexpr std::int64_t most_values = std::int64_t{1} << 24;
  return std::max({values / widest, std::min(worthwhile_rows, most_values / widest), std::int64_t{1}});
}

}  // namespace stoker::torch_door
