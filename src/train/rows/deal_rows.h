#pragma once

#include <cstdint>

#include "data/placement/dataset.h"

namespace stoker {

// A copy of the rows in which each lies in a shard that the seed gives it, so that a shard is like the whole
// whatever the order of the file; within a shard they keep their order, since every epoch shuffles it anyway.
// Rows are read once from first to last and every shard is written so too: they may all lie in files. In
// memory of the host, ordinary or pinned.
Dataset deal_rows(const Dataset& dataset, std::uint64_t seed, std::int64_t rows_per_shard, Memory memory);

}  // namespace stoker
