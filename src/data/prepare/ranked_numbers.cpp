#include "data/prepare/ranked_numbers.h"

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

// Numbers whose keys begin alike, and have places from `begin` to `end` among them.
struct RankGroup {
  RankKey beginning = 0;  // what is left of a key without its last `shift` bits
  std::size_t first_place = 0;
  std::size_t size = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};
constexpr int all_bits = 64;
constexpr std::size_t most_numbers_held = std::size_t{1} << 18;

RankKey beginning_of(RankKey key, int shift) {
  return shift == all_bits ? 0 : key >> shift;
}

// The group that a key is of, -1 if none; there are no more groups than places.
std::ptrdiff_t group_of(std::span<const RankGroup> groups, RankKey beginning) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].beginning == beginning) return static_cast<std::ptrdiff_t>(i);
  return -1;
}

// The groups divided by the next part of the keys, and of the new ones those that have a place among them.
std::vector<RankGroup> divided_groups(const NumberBlocks& blocks, std::span<const std::size_t> places,
                                      std::span<const RankGroup> groups, int shift, KeyPart part) {
  const std::size_t values = std::size_t{1} << part.bits;
  std::vector<std::size_t> sizes(groups.size() * values);
  blocks([&](std::span<const double> numbers) {
    for (const double number : numbers) {
      const RankKey key = rank_key(number);
      const std::ptrdiff_t group = group_of(groups, beginning_of(key, shift));
      if (group >= 0)
        ++sizes[static_cast<std::size_t>(group) * values + ((key >> part.shift) & (values - 1))];
    }
  });
  std::vector<RankGroup> result;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::size_t first_place = groups[g].first_place;
    std::size_t begin = groups[g].begin;
    for (std::size_t value = 0; value < values && begin < groups[g].end; ++value) {
      const std::size_t size = sizes[g * values + value];
      std::size_t end = begin;
      while (end < groups[g].end && places[end] < first_place + size) ++end;
      if (end > begin)
        result.push_back({(groups[g].beginning << part.bits) | value, first_place, size, begin, end});
      begin = end;
      first_place += size;
    }
  }
  return result;
}

std::vector<double> found_in_groups(const NumberBlocks& blocks, std::span<const std::size_t> places,
                                    std::span<const RankGroup> groups, int shift) {
  std::vector<std::vector<double>> members(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) members[g].reserve(groups[g].size);
  blocks([&](std::span<const double> numbers) {
    for (const double number : numbers) {
      const std::ptrdiff_t group = group_of(groups, beginning_of(rank_key(number), shift));
      if (group >= 0) members[static_cast<std::size_t>(group)].push_back(number);
    }
  });
  std::vector<double> found;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<std::size_t> inside;
    for (std::size_t i = groups[g].begin; i < groups[g].end; ++i)
      inside.push_back(places[i] - groups[g].first_place);
    const std::vector<double> part = numbers_at(members[g], inside);
    found.insert(found.end(), part.begin(), part.end());
  }
  return found;
}

}  // namespace

std::vector<double> numbers_at(const NumberBlocks& blocks, std::size_t count,
                               std::span<const std::size_t> places) {
  std::vector<RankGroup> groups{{0, 0, count, 0, places.size()}};
  int shift = all_bits;
  const auto are_too_many = [&] {
    std::size_t all = 0;
    for (const RankGroup& each : groups) all += each.size;
    return all > most_numbers_held;
  };
  for (const KeyPart part : key_parts) {
    if (!are_too_many()) return found_in_groups(blocks, places, groups, shift);
    groups = divided_groups(blocks, places, groups, shift, part);
    shift = part.shift;
  }
  std::vector<double> found;  // all numbers of a group are the same by now
  for (const RankGroup& each : groups) found.resize(each.end, number_of_key(each.beginning));
  return found;
}

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
