#include "data/ranked_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>

namespace stoker {
namespace {

// A number as bits that have the order of the numbers.
using RankKey = std::uint64_t;
constexpr RankKey sign_bit = RankKey{1} << 63;

RankKey rank_key(double number) {
  const auto bits = std::bit_cast<RankKey>(number + 0.0);  // of both zeros the positive one
  return (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
}
double number_of_key(RankKey key) {
  return std::bit_cast<double>((key & sign_bit) != 0 ? key & ~sign_bit : ~key);
}

// From the first bits to the last: sign and exponent, then the fraction a part at a time. Few enough values
// that their counts stay in the cache.
struct KeyPart {
  int shift;
  int bits;
};
constexpr std::array<KeyPart, 6> key_parts{{{52, 12}, {40, 12}, {28, 12}, {16, 12}, {4, 12}, {0, 4}}};
constexpr std::size_t most_values_of_part = std::size_t{1} << 12;
constexpr std::size_t sorted_as_they_are = 1024;  // fewer take longer to count than to sort
constexpr std::size_t not_wanted = std::numeric_limits<std::size_t>::max();

// Divides keys by one part of them after the other, and goes on with those alone among which a place is.
class PlaceFinder {
 public:
  PlaceFinder(std::span<const std::size_t> places, std::span<double> found)
      : places_(places), found_(found) {}

  // Finds the places from `begin` to `end` among the keys, the least of which is at `first_place`. `room` is
  // as large as they are; both are left in disorder.
  void find(std::span<RankKey> keys, std::span<RankKey> room, std::size_t first_place, std::size_t part,
            std::size_t begin, std::size_t end) {
    if (keys.size() <= sorted_as_they_are || part == key_parts.size()) {
      if (part < key_parts.size()) std::sort(keys.begin(), keys.end());  // else all are the same
      for (std::size_t i = begin; i < end; ++i) found_[i] = number_of_key(keys[places_[i] - first_place]);
      return;
    }
    const auto [shift, bits] = key_parts[part];
    const RankKey mask = (RankKey{1} << bits) - 1;
    std::array<std::size_t, most_values_of_part> next{};  // how many have this value, then where they go
    for (const RankKey key : keys) ++next[(key >> shift) & mask];
    struct Group {
      std::size_t place, size, room, begin, end;
    };
    std::vector<Group> groups;
    std::size_t place = first_place;
    std::size_t taken = 0;
    for (std::size_t value = 0; value <= mask; ++value) {
      const std::size_t size = next[value];
      std::size_t wanted = begin;
      while (wanted < end && places_[wanted] < place + size) ++wanted;
      next[value] = wanted == begin ? not_wanted : taken;
      if (wanted > begin) {
        groups.push_back({place, size, taken, begin, wanted});
        taken += size;
      }
      begin = wanted;
      place += size;
    }
    for (const RankKey key : keys) {
      std::size_t& at = next[(key >> shift) & mask];
      if (at != not_wanted) room[at++] = key;
    }
    for (const Group& each : groups)
      find(room.subspan(each.room, each.size), keys.subspan(each.room, each.size), each.place, part + 1,
           each.begin, each.end);
  }

 private:
  std::span<const std::size_t> places_;
  std::span<double> found_;
};

}  // namespace

std::vector<double> numbers_at(std::span<const double> numbers, std::span<const std::size_t> places) {
  std::vector<double> found(places.size());
  const auto keys = std::make_unique_for_overwrite<RankKey[]>(numbers.size());
  const auto room = std::make_unique_for_overwrite<RankKey[]>(numbers.size());
  std::transform(numbers.begin(), numbers.end(), keys.get(), rank_key);
  PlaceFinder(places, found)
      .find({keys.get(), numbers.size()}, {room.get(), numbers.size()}, 0, 0, 0, places.size());
  return found;
}

double median_of(std::span<const double> numbers) {
  const std::size_t middle = numbers.size() / 2;
  if (numbers.size() % 2 == 1) return numbers_at(numbers, std::array{middle}).front();
  const std::vector<double> both = numbers_at(numbers, std::array{middle - 1, middle});
  return std::midpoint(both[1], both[0]);
}

}  // namespace stoker
