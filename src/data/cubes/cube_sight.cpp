#include "data/cubes/cube_sight.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::int64_t longest_side = 64;  // of the picture
constexpr std::size_t most_spectra = 6;

std::int64_t channel_nearest(std::span<const double> wavelengths, double wanted) {
  const auto nearest =
      std::ranges::min_element(wavelengths, {}, [&](double each) { return std::abs(each - wanted); });
  return nearest - wavelengths.begin();
}

float value_at(const SeenCube& cube, std::int64_t y, std::int64_t x, std::int64_t channel) {
  return cube.values[static_cast<std::size_t>((y * cube.width + x) * cube.channels + channel)];
}

// Calls with each pixel of the cube that lies in one of the picture.
template <class Take>
void each_pixel_in(const CubeSight& sight, const SeenCube& cube, std::int64_t y, std::int64_t x, Take take) {
  for (std::int64_t down = y * sight.side; down < std::min((y + 1) * sight.side, cube.height); ++down)
    for (std::int64_t right = x * sight.side; right < std::min((x + 1) * sight.side, cube.width); ++right)
      take(down, right);
}

std::vector<float> means_of_channel(const CubeSight& sight, const SeenCube& cube, std::int64_t channel) {
  std::vector<float> means;
  for (std::int64_t y = 0; y < sight.height; ++y)
    for (std::int64_t x = 0; x < sight.width; ++x) {
      double sum = 0, count = 0;
      each_pixel_in(sight, cube, y, x, [&](std::int64_t down, std::int64_t right) {
        const float value = value_at(cube, down, right, channel);
        if (!std::isfinite(value)) return;
        sum += static_cast<double>(value);
        count += 1;
      });
      means.push_back(static_cast<float>(sum / count));  // NaN where there is none
    }
  return means;
}

// From black to full between the values that 2 % are below and above, so that a few extremes leave the rest
// to see.
std::vector<std::uint8_t> as_bytes(const std::vector<float>& values) {
  std::vector<float> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](float each) { return std::isfinite(each); });
  std::ranges::sort(finite);
  const auto at = [&](double share) {
    return finite.empty()
               ? 0.0
               : static_cast<double>(
                     finite[static_cast<std::size_t>(share * static_cast<double>(finite.size() - 1))]);
  };
  const double low = at(0.02), range = std::max(at(0.98) - low, 1e-12);
  std::vector<std::uint8_t> bytes;
  for (const float each : values)
    bytes.push_back(std::isfinite(each)
                        ? static_cast<std::uint8_t>(std::clamp(
                              std::round(255 * (static_cast<double>(each) - low) / range), 0.0, 255.0))
                        : std::uint8_t{0});
  return bytes;
}

std::vector<CubeSight::Spectrum> spectra_of(const SeenCube& cube) {
  const auto channels = static_cast<std::size_t>(cube.channels);
  struct Sums {
    std::int64_t pixels = 0;
    std::vector<double> sums, counts;
  };
  std::map<int, Sums> by_class;
  for (std::size_t pixel = 0; pixel < cube.values.size() / channels; ++pixel) {
    Sums& own = by_class[cube.mask.empty() ? 0 : cube.mask[pixel]];
    own.sums.resize(channels);
    own.counts.resize(channels);
    ++own.pixels;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const float value = cube.values[pixel * channels + channel];
      if (!std::isfinite(value)) continue;
      own.sums[channel] += static_cast<double>(value);
      own.counts[channel] += 1;
    }
  }
  std::vector<CubeSight::Spectrum> spectra;
  for (const auto& [number, own] : by_class) {
    CubeSight::Spectrum& made = spectra.emplace_back(CubeSight::Spectrum{number, own.pixels, {}});
    for (std::size_t channel = 0; channel < channels; ++channel)
      made.mean.push_back(static_cast<float>(own.sums[channel] / own.counts[channel]));
  }
  std::ranges::stable_sort(spectra, std::ranges::greater(), &CubeSight::Spectrum::pixels);
  if (spectra.size() > most_spectra) spectra.resize(most_spectra);
  return spectra;
}

// "0.48813", not 0.4881350100040436: nobody sees more of it.
json short_number(float value) {
  return std::isfinite(value) ? json(std::stod(fmt::format("{:.5g}", value))) : json(nullptr);
}

}  // namespace

std::array<std::int64_t, 3> false_colour_channels(std::span<const double> wavelengths,
                                                  std::int64_t channels) {
  if (!wavelengths.empty()) {
    const auto [least, most] = std::ranges::minmax(wavelengths);
    if (least <= 470 && most >= 630)
      return {channel_nearest(wavelengths, 650), channel_nearest(wavelengths, 550),
              channel_nearest(wavelengths, 450)};
  }
  return {channels - 1, channels / 2, 0};
}

CubeSight sight_of(const SeenCube& cube) {
  const std::int64_t longer = std::max(cube.height, cube.width);
  CubeSight sight;
  sight.name = cube.name;
  sight.side = (longer + longest_side - 1) / longest_side;
  sight.height = (cube.height + sight.side - 1) / sight.side;
  sight.width = (cube.width + sight.side - 1) / sight.side;
  sight.channels = false_colour_channels(cube.wavelengths, cube.channels);
  for (std::size_t i = 0; i < 3; ++i)
    sight.colours[i] = as_bytes(means_of_channel(sight, cube, sight.channels[i]));
  if (!cube.mask.empty())
    for (std::int64_t y = 0; y < sight.height; ++y)
      for (std::int64_t x = 0; x < sight.width; ++x) {
        std::uint8_t highest = 0;
        each_pixel_in(sight, cube, y, x, [&](std::int64_t down, std::int64_t right) {
          highest = std::max(highest, cube.mask[static_cast<std::size_t>(down * cube.width + right)]);
        });
        sight.mask.push_back(highest);
      }
  sight.spectra = spectra_of(cube);
  return sight;
}

json to_json(const CubeSight& sight) {
  json spectra = json::array();
  for (const CubeSight::Spectrum& each : sight.spectra) {
    json mean = json::array();
    for (const float value : each.mean) mean.push_back(short_number(value));
    spectra.push_back({{"class", each.pixel_class}, {"pixels", each.pixels}, {"mean", std::move(mean)}});
  }
  return {{"cube", sight.name},           {"side", sight.side},         {"height", sight.height},
          {"width", sight.width},         {"channels", sight.channels}, {"red", sight.colours[0]},
          {"green", sight.colours[1]},    {"blue", sight.colours[2]},   {"mask", sight.mask},
          {"spectra", std::move(spectra)}};
}

}  // namespace stoker
