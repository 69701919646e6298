#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stoker {

// Pairs units of one network with those of another: the pair that is most alike first, then the next one of
// those that are left. `likeness` is [units, units], of the one's by the other's; of equals the first pair in
// that order counts as more alike, and what is not a number as least. Answers with the other's unit for each.
std::vector<std::int32_t> matched_units(std::span<const float> likeness, std::int64_t units);

}  // namespace stoker
