#include "base/quick_hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace stoker {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

constexpr std::uint64_t prime_1 = 0x9e3779b185ebca87U;
constexpr std::uint64_t prime_2 = 0xc2b2ae3d27d4eb4fU;
constexpr std::uint64_t prime_3 = 0x165667b19e3779f9U;
constexpr std::uint64_t prime_4 = 0x85ebca77c2b2ae63U;
constexpr std::uint64_t prime_5 = 0x27d4eb2f165667c5U;

template <class Word>
std::uint64_t word_at(const std::byte* place) {
  Word word = 0;
  std::memcpy(&word, place, sizeof(word));
  return word;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  return std::rotl(sum + word * prime_2, 31) * prime_1;
}

// Four sums that do not wait for each other.
std::uint64_t hash_of_stripes(const std::byte*& place, const std::byte* end, std::uint64_t seed) {
  std::array<std::uint64_t, 4> sums{seed + prime_1 + prime_2, seed + prime_2, seed, seed - prime_1};
  for (; end - place >= 32; place += 32) {
    for (std::size_t i = 0; i < 4; ++i) sums[i] = mixed(sums[i], word_at<std::uint64_t>(place + 8 * i));
  }
  std::uint64_t hash =
      std::rotl(sums[0], 1) + std::rotl(sums[1], 7) + std::rotl(sums[2], 12) + std::rotl(sums[3], 18);
  for (const std::uint64_t sum : sums) hash = (hash ^ mixed(0, sum)) * prime_1 + prime_4;
  return hash;
}

}  // namespace

std::uint64_t quick_hash(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::byte* place = bytes.data();
  const std::byte* const end = place + bytes.size();
  std::uint64_t hash = bytes.size() >= 32 ? hash_of_stripes(place, end, seed) : seed + prime_5;
  hash += bytes.size();
  for (; end - place >= 8; place += 8)
    hash = std::rotl(hash ^ mixed(0, word_at<std::uint64_t>(place)), 27) * prime_1 + prime_4;
  for (; end - place >= 4; place += 4)
    hash = std::rotl(hash ^ word_at<std::uint32_t>(place) * prime_1, 23) * prime_2 + prime_3;
  for (; place < end; ++place) hash = std::rotl(hash ^ word_at<std::uint8_t>(place) * prime_5, 11) * prime_1;
  hash = (hash ^ hash >> 33U) * prime_2;
  hash = (hash ^ hash >> 29U) * prime_3;
  return hash ^ hash >> 32U;
}

}  // namespace stoker
