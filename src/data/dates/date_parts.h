#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/prepare/preparation_config.h"

template <>
inline constexpr std::array<std::string_view, 9> stoker::config::names<stoker::DatePart>{
    "none", "days", "year", "year_sine", "year_cosine", "week_sine", "week_cosine", "day_sine", "day_cosine"};

namespace stoker {

// A part of the moment that is so many seconds after the start of 1970; NaN stays.
double part_of_date(DatePart part, double seconds);

// The parts that tell rows apart: elapsed days, and of year, week and day those that the rows differ in.
std::vector<DatePart> parts_that_differ(std::span<const double> seconds);

}  // namespace stoker
