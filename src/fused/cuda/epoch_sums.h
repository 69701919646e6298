#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fused/cuda/choose_plan.h"

// The losses of the unfinished epoch. A kernel adds them up in as many sums as its blocks have rows, and that
// depends on its plan and on the GPU. A state has one sum for each place of a batch instead, as the other
// engines do, so that any plan can go on with it.
namespace stoker::fused {

// Places that share a sum: the first has it, the others 0. So the same plan gets back the very bits.
std::vector<double> sums_by_place(const Spread& spread, std::span<const double> sums, std::int64_t batch);

// The other way, into `count` sums.
std::vector<double> sums_to_go_on(const Spread& spread, std::span<const double> by_place, std::size_t count);

}  // namespace stoker::fused
