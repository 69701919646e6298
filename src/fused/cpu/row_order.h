#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace stoker::fused_cpu {

// What Permutation(key, size) says of the positions from `first` on, as many as fit: many at once, so that
// the compiler turns the rounds into vector code.
void permuted_rows(RandomKey key, std::uint64_t size, std::uint64_t first, std::span<std::int64_t> rows);

}  // namespace stoker::fused_cpu
