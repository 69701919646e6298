#include "fused/cpu/row_order.h"

#include <algorithm>
#include <cstddef>

namespace stoker::fused_cpu {
namespace {

constexpr std::size_t block = 256;
constexpr std::uint64_t largest_size = std::uint64_t{1} << 32;

struct Walk {
  std::uint32_t left[block];
  std::uint32_t right[block];
  std::size_t place[block];
};

void encrypt(Walk& walk, std::size_t count, RandomKey key, std::uint32_t mask) {
  for (std::uint32_t round = 0; round < 6; ++round) {
    const RandomKey round_key{key.first + round, key.second};
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t next = (walk.left[i] ^ random_bits(round_key, walk.right[i])) & mask;
      walk.left[i] = walk.right[i];
      walk.right[i] = next;
    }
  }
}

// Writes those that landed inside and moves the others together; returns how many there are.
std::size_t settle(Walk& walk, std::size_t count, std::uint32_t half_bits, std::uint64_t size,
                   std::int64_t* rows) {
  std::size_t outside = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = (static_cast<std::uint64_t>(walk.left[i]) << half_bits) | walk.right[i];
    rows[walk.place[i]] = static_cast<std::int64_t>(value);  // overwritten later if it is outside
    walk.left[outside] = walk.left[i];
    walk.right[outside] = walk.right[i];
    walk.place[outside] = walk.place[i];
    outside += value >= size ? 1 : 0;
  }
  return outside;
}

}  // namespace

void permuted_rows(RandomKey key, std::uint64_t size, std::uint64_t first, std::span<std::int64_t> rows) {
  if (size > largest_size) {
    const Permutation permutation(key, size);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(permutation(first + i));
    return;
  }
  std::uint32_t half_bits = 1;
  while ((std::uint64_t{1} << (2 * half_bits)) < size) ++half_bits;
  const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << half_bits) - 1);
  Walk walk;
  for (std::size_t begin = 0; begin < rows.size(); begin += block) {
    std::size_t count = std::min(block, rows.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t position = first + begin + i;
      walk.left[i] = static_cast<std::uint32_t>(position >> half_bits);
      walk.right[i] = static_cast<std::uint32_t>(position) & mask;
      walk.place[i] = i;
    }
    while (count > 0) {
      encrypt(walk, count, key, mask);
      count = settle(walk, count, half_bits, size, rows.data() + begin);
    }
  }
}

}  // namespace stoker::fused_cpu
