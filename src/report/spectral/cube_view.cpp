#include "report/spectral/cube_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quantile.h"
#include "data/cubes/cube_sight.h"
#include "report/page/base64.h"
#include "report/spectral/pixel_blocks.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::int64_t most_viewed_numbers = 1'000'000;
constexpr std::int64_t fewest_viewed_pixels = 32 * 32;
constexpr std::int64_t most_drawn_pixels = 400 * 400;

std::vector<std::int64_t> channels_to_view(std::int64_t channels) {
  const std::int64_t step = (channels * fewest_viewed_pixels + most_viewed_numbers - 1) / most_viewed_numbers;
  std::vector<std::int64_t> shown;
  for (std::int64_t i = 0; i < channels; i += std::max<std::int64_t>(step, 1)) shown.push_back(i);
  return shown;
}

std::string base64_of_bytes(const std::vector<std::uint8_t>& bytes) {
  return base64_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// 0 of what is not finite, 1 to 255 from the least to the most.
std::uint8_t shade_of(float value, double least, double most) {
  if (!std::isfinite(value)) return 0;
  const double share = most > least ? (static_cast<double>(value) - least) / (most - least) : 0;
  return static_cast<std::uint8_t>(1.5 + 254 * std::clamp(share, 0.0, 1.0));  // the nearest
}

// Every `step`th value from the first on, those that are finite.
std::vector<float> finite_among(const std::vector<float>& values, std::size_t first, std::size_t step) {
  std::vector<float> finite;
  for (std::size_t i = first; i < values.size(); i += step)
    if (std::isfinite(values[i])) finite.push_back(values[i]);
  return finite;
}

// Black and white are where 2 % of a channel's values are lower and higher.
std::string colours_of(const SpectralPixels& cube, const std::array<std::int64_t, 3>& channels,
                       const PixelBlocks& blocks) {
  const std::vector<float> means = means_of_blocks(cube, channels, blocks);
  std::vector<std::uint8_t> colours(means.size());
  for (std::size_t colour = 0; colour < 3; ++colour) {
    std::vector<float> finite = finite_among(means, colour, 3);
    const double low = finite.empty() ? 0 : quantile_of(finite, 0.02);
    const double high = finite.empty() ? 1 : quantile_of(finite, 0.98);
    for (std::size_t i = colour; i < means.size(); i += 3) {
      const double share = (static_cast<double>(means[i]) - low) / std::max(high - low, 1e-12);
      colours[i] = std::isfinite(means[i])
                       ? static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)))
                       : std::uint8_t{0};
    }
  }
  return base64_of_bytes(colours);
}

void add_scores(const SpectralPixels& cube, std::span<const float> scores, const PixelBlocks& blocks,
                CubeImage& image) {
  const std::array<std::int64_t, 1> only{0};
  const std::vector<float> means = means_of_blocks({cube.height, cube.width, 1, scores}, only, blocks);
  std::vector<float> finite = finite_among(means, 0, 1);
  if (!finite.empty()) {
    image.lowest = static_cast<double>(*std::ranges::min_element(finite));
    image.highest = quantile_of(finite, 0.995);
  }
  std::vector<std::uint8_t> shades;
  for (const float each : means) shades.push_back(shade_of(each, image.lowest, image.highest));
  image.scores = base64_of_bytes(shades);
}

CubeImage image_of(const SpectralPixels& cube, std::span<const float> scores,
                   std::span<const std::uint8_t> found) {
  const PixelBlocks blocks = blocks_for(cube.height, cube.width, most_drawn_pixels);
  CubeImage image;
  image.side = blocks.side;
  image.height = blocks.height;
  image.width = blocks.width;
  image.channels = false_colour_channels(cube.wavelengths, cube.channels);
  if (!cube.wavelengths.empty())
    for (const std::int64_t each : image.channels)
      image.wavelengths.push_back(cube.wavelengths[static_cast<std::size_t>(each)]);
  image.colours = colours_of(cube, image.channels, blocks);
  add_scores(cube, scores, blocks, image);
  image.actual = base64_of_bytes(marks_of_blocks(cube.mask, cube.height, cube.width, blocks));
  image.found = base64_of_bytes(marks_of_blocks(found, cube.height, cube.width, blocks));
  return image;
}

std::vector<double> numbers_in_list(const RecordPart& part, const char* key, std::size_t count) {
  std::vector<double> numbers;
  part.each(key, [&](const json& each, const auto& place) {
    if (!each.is_number()) refuse("{}: expected a number, found {}", place(), each.type_name());
    numbers.push_back(each.get<double>());
  });
  if (numbers.size() != count) refuse("{}: {} numbers, not {}", part.place_of(key), numbers.size(), count);
  return numbers;
}

std::vector<std::int64_t> channels_in_list(const RecordPart& part) {
  std::vector<std::int64_t> channels;
  part.each("channels", [&](const json& each, const auto& place) {
    if (!each.is_number_unsigned()) refuse("{}: expected a channel, found {}", place(), each.type_name());
    if (each.get<std::uint64_t>() > most_viewed_numbers)
      refuse("{}: there is no channel {}", place(), each.get<std::uint64_t>());
    channels.push_back(each.get<std::int64_t>());
  });
  return channels;
}

// Bytes in base64, as many as there must be; none where they may be left out.
std::string bytes_in(const RecordPart& part, const char* key, std::size_t bytes, bool may_be_empty) {
  std::string text;
  if (part.has(key) && part.at(key).is_string()) text = part.at(key).get<std::string>();
  if ((text.empty() && may_be_empty) || is_base64_of(text, bytes)) return text;
  refuse("{} is damaged: it does not hold as many values as it should", part.place_of(key));
}

std::size_t pixels_in(const RecordPart& part, std::int64_t height, std::int64_t width,
                      std::int64_t channels) {
  if (channels == 0 || height > most_viewed_numbers || width > most_viewed_numbers ||
      height * width > most_viewed_numbers)
    refuse("{}: {} x {} pixels with {} channels are no cube", part.place_of("height"), height, width,
           channels);
  return static_cast<std::size_t>(height * width);
}

CubeImage cube_image_from(const RecordPart& part) {
  CubeImage image;
  image.side = part.whole("side", 1, 1);
  image.height = part.whole("height", 1, 1);
  image.width = part.whole("width", 1, 1);
  const std::vector<std::int64_t> channels = channels_in_list(part);
  if (channels.size() != 3) refuse("{}: {} channels, not 3", part.place_of("channels"), channels.size());
  std::ranges::copy(channels, image.channels.begin());
  if (part.has("wavelengths") && !part.at("wavelengths").empty())
    image.wavelengths = numbers_in_list(part, "wavelengths", 3);
  const std::size_t pixels = pixels_in(part, image.height, image.width, 3);
  image.colours = bytes_in(part, "colours", 3 * pixels, false);
  image.scores = bytes_in(part, "scores", pixels, false);
  image.lowest = part.number("lowest");
  image.highest = part.number("highest");
  image.actual = bytes_in(part, "actual", pixels, true);
  image.found = bytes_in(part, "found", pixels, true);
  return image;
}

}  // namespace

CubeView view_of(const SpectralPixels& cube, std::span<const float> scores,
                 std::span<const std::uint8_t> found, std::string name) {
  CubeView view;
  view.name = std::move(name);
  view.channels = channels_to_view(cube.channels);
  const std::size_t count = view.channels.size();
  const PixelBlocks blocks =
      blocks_for(cube.height, cube.width, most_viewed_numbers / static_cast<std::int64_t>(count));
  view.side = blocks.side;
  view.height = blocks.height;
  view.width = blocks.width;
  const std::vector<float> means = means_of_blocks(cube, view.channels, blocks);
  view.least.assign(count, INFINITY);
  view.most.assign(count, -INFINITY);
  for (std::size_t pixel = 0; pixel < means.size(); pixel += count)
    for (std::size_t c = 0; c < count; ++c) {
      const auto value = static_cast<double>(means[pixel + c]);
      if (!std::isfinite(value)) continue;
      view.least[c] = std::min(view.least[c], value);
      view.most[c] = std::max(view.most[c], value);
    }
  for (std::size_t c = 0; c < count; ++c) {
    if (view.least[c] > view.most[c]) view.least[c] = view.most[c] = 0;
    if (!cube.wavelengths.empty())
      view.wavelengths.push_back(cube.wavelengths[static_cast<std::size_t>(view.channels[c])]);
  }
  std::vector<std::uint8_t> bytes(means.size());
  for (std::size_t pixel = 0; pixel < means.size(); pixel += count)
    for (std::size_t c = 0; c < count; ++c)
      bytes[pixel + c] = shade_of(means[pixel + c], view.least[c], view.most[c]);
  view.values = base64_of_bytes(bytes);
  view.mask = base64_of_bytes(marks_of_blocks(cube.mask, cube.height, cube.width, blocks));
  view.image = image_of(cube, scores, found);
  return view;
}

double stretch_of_pixels(std::int64_t height, std::int64_t width) {
  constexpr double longest = 8;  // one side, where the other is 1
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  if (ratio > longest) return ratio / longest;
  return ratio < 1 / longest ? ratio * longest : 1;
}

json to_json(const CubeView& view) {
  const CubeImage& image = view.image;
  return {{"name", view.name},
          {"reason", view.reason},
          {"side", view.side},
          {"height", view.height},
          {"width", view.width},
          {"channels", view.channels},
          {"wavelengths", view.wavelengths},
          {"least", view.least},
          {"most", view.most},
          {"values", view.values},
          {"mask", view.mask},
          {"image",
           {{"side", image.side},
            {"height", image.height},
            {"width", image.width},
            {"channels", image.channels},
            {"wavelengths", image.wavelengths},
            {"colours", image.colours},
            {"scores", image.scores},
            {"lowest", image.lowest},
            {"highest", image.highest},
            {"actual", image.actual},
            {"found", image.found}}}};
}

CubeView cube_view_from(const RecordPart& part) {
  CubeView view;
  view.name = part.text("name");
  view.reason = part.text("reason");
  view.side = part.whole("side", 1, 1);
  view.height = part.whole("height", 1, 1);
  view.width = part.whole("width", 1, 1);
  view.channels = channels_in_list(part);
  const std::size_t channels = view.channels.size();
  view.least = numbers_in_list(part, "least", channels);
  view.most = numbers_in_list(part, "most", channels);
  if (part.has("wavelengths") && !part.at("wavelengths").empty())
    view.wavelengths = numbers_in_list(part, "wavelengths", channels);
  const std::size_t pixels = pixels_in(part, view.height, view.width, std::ssize(view.channels));
  view.values = bytes_in(part, "values", pixels * channels, false);
  view.mask = bytes_in(part, "mask", pixels, true);
  if (!part.has("image")) refuse("{} is missing", part.place_of("image"));
  view.image = cube_image_from(RecordPart(part.at("image"), [&] { return part.place_of("image"); }));
  return view;
}

}  // namespace stoker
