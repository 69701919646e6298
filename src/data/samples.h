#pragma once

#include <cstdint>
#include <optional>

#include "data/source.h"
#include "data/table.h"

namespace stoker {

// Raised whenever a sample's numbers change, so that what was cached from the old ones is not used.
inline constexpr int samples_version = 1;

std::int64_t usual_rows(SampleName name);
Table make_sample(SampleName name, std::int64_t rows, std::uint64_t seed);

}  // namespace stoker
