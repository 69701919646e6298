#pragma once

#include <cstdint>
#include <optional>

#include "data/table/table.h"

namespace stoker {

// Signs of ten classes, drawn by strokes into 28 x 28 pixels: columns pixel_0_0 to pixel_27_27 and label. The
// last seventh of the rows are to test with.
Table make_glyphs(std::int64_t rows, std::uint64_t seed);
// None of so few rows that they have no seventh.
std::optional<std::int64_t> first_glyph_to_test_with(std::int64_t rows);

}  // namespace stoker
