#include "data/cubes/cube_faults.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/table/column_values.h"
#include "device/workers.h"

namespace stoker {
namespace {

constexpr std::size_t most_told = 5;

std::string count_of(std::int64_t count, const char* noun) {
  return counted(static_cast<std::uint64_t>(count), noun);
}

// "flight_3 (12 pixels NaN, 1 pixel infinite)"
std::string told_cube(const OddCube& cube) {
  std::vector<std::string> counts;
  if (cube.nan_pixels > 0) counts.push_back(count_of(cube.nan_pixels, "pixel") + " NaN");
  if (cube.infinite_pixels > 0) counts.push_back(count_of(cube.infinite_pixels, "pixel") + " infinite");
  return fmt::format("{} ({})", printable(shortened(cube.name)), join(counts, ", "));
}

std::string told_channel(const DeadChannel& dead) {
  return dead.wavelength ? fmt::format("{} ({:.6g} nm)", dead.channel + 1, *dead.wavelength)
                         : fmt::format("{}", dead.channel + 1);
}

// The first few of them, and how many more there are.
template <class Each, class Tell>
std::string told_first(const std::vector<Each>& all, const Tell& tell) {
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(all.size(), most_told); ++i) named.push_back(tell(all[i]));
  const std::string text = join(named, ", ");
  return all.size() <= most_told ? text : fmt::format("{} and {} more", text, all.size() - most_told);
}

// "2 of 40 cubes have pixels with values that are not finite numbers: …"
std::string told_odd(const std::vector<OddCube>& odd, std::int64_t cubes, const std::string& purpose) {
  return fmt::format("{} of {}{} {} pixels with values that are not finite numbers: {}", odd.size(),
                     count_of(cubes, "cube"), purpose, odd.size() == 1 ? "has" : "have",
                     told_first(odd, told_cube));
}

// Which channels of one cube have a single value. Most are found to have several within a few pixels.
std::vector<std::int64_t> dead_channels(std::span<const float> values, std::int64_t channels) {
  std::vector<std::int64_t> left(static_cast<std::size_t>(channels));
  for (std::int64_t i = 0; i < channels; ++i) left[static_cast<std::size_t>(i)] = i;
  std::vector<float> first(left.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t begin = 0; begin < values.size() && !left.empty(); begin += first.size())
    std::erase_if(left, [&](std::int64_t channel) {
      const auto place = static_cast<std::size_t>(channel);
      const float value = values[begin + place];
      if (!std::isfinite(value)) return false;
      if (std::isnan(first[place])) first[place] = value;
      return value != first[place];
    });
  return left;
}

std::vector<DeadChannel> find_dead_channels(const Table& table) {
  const Cubes& cubes = *table.cubes;
  // A single pixel has one value in every channel.
  if (cubes.pixels() < 2) return {};
  std::vector<std::vector<std::int64_t>> found(static_cast<std::size_t>(table.rows()));
  share_among_cores(table.rows(), [&](std::int64_t row) {
    found[static_cast<std::size_t>(row)] = dead_channels(values_of_cube(table, row), cubes.channels());
  });
  std::vector<std::int64_t> counts(static_cast<std::size_t>(cubes.channels()));
  for (const std::vector<std::int64_t>& of_cube : found)
    for (const std::int64_t channel : of_cube) ++counts[static_cast<std::size_t>(channel)];
  std::vector<DeadChannel> dead;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    DeadChannel& each = dead.emplace_back(DeadChannel{static_cast<std::int64_t>(i), {}, counts[i]});
    if (i < cubes.wavelengths.size()) each.wavelength = cubes.wavelengths[i];
  }
  return dead;
}

}  // namespace

std::vector<OddCube> odd_cubes(const Table& table) {
  std::vector<OddCube> odd;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const auto cube = static_cast<std::size_t>(cube_of(table, row));
    const CubeFacts& facts = table.cubes->facts.at(cube);
    if (facts.nan_pixels > 0 || facts.infinite_pixels > 0)
      odd.push_back({table.cubes->names.at(cube), facts.nan_pixels, facts.infinite_pixels});
  }
  return odd;
}

void refuse_odd_cubes(const Table& table, const std::string& purpose) {
  const std::vector<OddCube> odd = odd_cubes(table);
  if (odd.empty()) return;
  refuse(
      "{}. A model trained with bad_pixels: leave_out goes without such pixels; in a document, a card "
      "data_filter with where: [{} = 0, {} = 0] goes without such cubes",
      told_odd(odd, table.rows(), purpose), column_of_nan, column_of_infinite);
}

CubeFaults find_cube_faults(const Table& table) {
  return {table.rows(), odd_cubes(table), find_dead_channels(table)};
}

std::string CubeFaults::of_odd() const {
  if (odd.empty()) return "";
  return told_odd(odd, cubes, "") + ". A training refuses them, unless its model has bad_pixels: leave_out";
}

std::string CubeFaults::of_dead() const {
  if (dead.empty()) return "";
  const auto [fewest, most] = std::ranges::minmax(dead, {}, &DeadChannel::cubes);
  const std::string where =
      fewest.cubes == most.cubes
          ? fmt::format("{} of {}", most.cubes, count_of(cubes, "cube"))
          : fmt::format("{} to {} of {}", fewest.cubes, most.cubes, count_of(cubes, "cube"));
  return fmt::format("{} one and the same value in all pixels of {}: {}",
                     dead.size() == 1 ? "a channel has" : fmt::format("{} channels have", dead.size()), where,
                     told_first(dead, told_channel));
}

nlohmann::json to_json(const CubeFaults& faults) {
  nlohmann::json odd = nlohmann::json::array();
  for (const OddCube& each : faults.odd)
    odd.push_back(
        {{"cube", each.name}, {"nan_pixels", each.nan_pixels}, {"infinite_pixels", each.infinite_pixels}});
  nlohmann::json dead = nlohmann::json::array();
  for (const DeadChannel& each : faults.dead) {
    dead.push_back({{"channel", each.channel + 1}, {"cubes", each.cubes}});
    if (each.wavelength) dead.back()["wavelength"] = *each.wavelength;
  }
  nlohmann::json told = nlohmann::json::array();
  for (const std::string& text : {faults.of_odd(), faults.of_dead()})
    if (!text.empty()) told.push_back(text);
  return {{"count", faults.cubes},
          {"not_finite", std::move(odd)},
          {"dead_channels", std::move(dead)},
          {"told", std::move(told)}};
}

}  // namespace stoker
