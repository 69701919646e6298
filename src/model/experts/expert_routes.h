#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

// Who answers for some rows.
struct ExpertRoutes {
  std::vector<std::int32_t> chosen;  // [rows, top_k], the one liked best first
  std::vector<float> shares;         // [rows, top_k] that each has in the answer
  std::vector<float> hesitation;     // [rows] entropy of the router's shares, 1 where all are equal
};

}  // namespace stoker
