#include "train/rows/deal_rows.h"

#include <cstring>
#include <vector>

#include "base/random.h"

namespace stoker {

Dataset deal_rows(const Dataset& dataset, std::uint64_t seed, std::int64_t rows_per_shard, Memory memory) {
  constexpr std::uint64_t once = ~std::uint64_t{0};  // in place of an epoch and a shard
  struct Part {
    const std::byte* from;
    std::byte* to;
    std::size_t row_bytes;
  };
  const auto rows = static_cast<std::uint64_t>(dataset.rows());
  const auto size = static_cast<std::uint64_t>(rows_per_shard);
  Dataset copy = dataset;
  std::vector<Part> parts;
  for (DatasetArray& each : copy.arrays) {
    const Array& source = dataset.arrays[parts.size()].array;
    each.array = memory == Memory::host ? Array::for_rows(source.type(), source.shape())
                                        : Array(source.type(), source.shape(), memory);
    parts.push_back({static_cast<const std::byte*>(source.data()), static_cast<std::byte*>(each.array.data()),
                     source.bytes() / rows});
  }
  std::vector<std::uint64_t> next;  // place in each shard
  for (std::uint64_t first = 0; first < rows; first += size) next.push_back(first);
  const Permutation order(random_key(seed, Purpose::shard, once), rows);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t place = next[order(row) / size]++;
    for (const Part& part : parts)
      std::memcpy(part.to + place * part.row_bytes, part.from + row * part.row_bytes, part.row_bytes);
  }
  return copy;
}

}  // namespace stoker
