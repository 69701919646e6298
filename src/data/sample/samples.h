#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/field.h"
#include "data/table/table.h"

namespace stoker {

enum class SampleName { boston_housing, friedman, blobs, smc_windows, uhf_mixed, glyphs, spectral_stress };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 7> stoker::config::names<stoker::SampleName>{
    "boston_housing", "friedman", "blobs", "smc_windows", "uhf_mixed", "glyphs", "spectral_stress"};

namespace stoker {

// Raised whenever a sample's numbers change, so that what was cached from the old ones is not used.
inline constexpr int samples_version = 1;

std::int64_t usual_rows(SampleName name);
// From which one on rows of the sample are to test with; none of a sample that does not say so.
std::optional<std::int64_t> first_test_row(SampleName name, std::int64_t rows);
Table make_sample(SampleName name, std::int64_t rows, std::uint64_t seed);
// Columns c0, c1, … of numbers between -100 and 100 with four decimals, as measurements have them.
Table make_numbers(std::int64_t rows, std::int64_t columns);

}  // namespace stoker
