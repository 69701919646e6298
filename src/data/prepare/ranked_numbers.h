#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace stoker {

// What would stand at these places, which ascend from 0 on, if the numbers were in order: all that medians
// and quantiles need of it, for a fraction of the time. None of the numbers is NaN, and a negative zero
// counts as zero.
std::vector<double> numbers_at(std::span<const double> numbers, std::span<const std::size_t> places);

// The same of numbers that are not all in memory: they come a few at a time, whenever they are asked for, and
// there are `count` of them.
using NumberBlocks = std::function<void(const std::function<void(std::span<const double>)>& take)>;
std::vector<double> numbers_at(const NumberBlocks& blocks, std::size_t count,
                               std::span<const std::size_t> places);

// Halfway between the two in the middle, where there are two.
double median_of(std::span<const double> numbers);

}  // namespace stoker
