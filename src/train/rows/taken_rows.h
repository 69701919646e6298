#pragma once

#include <cstdint>
#include <span>

#include "device/array.h"

namespace stoker {

// Rows of an array in that order, on the host.
Array taken_rows(const Array& array, std::span<const std::int64_t> rows);

}  // namespace stoker
