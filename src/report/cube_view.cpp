#include "report/cube_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "config/bounded_json.h"
#include "report/base64.h"
#include "report/pixel_blocks.h"
#include "store/record_part.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t most_viewed_numbers = 1'000'000;
constexpr std::int64_t fewest_viewed_pixels = 32 * 32;
constexpr std::size_t largest_view = 8U << 20;
constexpr std::size_t most_views = 8;

std::vector<std::int64_t> channels_to_view(std::int64_t channels) {
  const std::int64_t step = (channels * fewest_viewed_pixels + most_viewed_numbers - 1) / most_viewed_numbers;
  std::vector<std::int64_t> shown;
  for (std::int64_t i = 0; i < channels; i += std::max<std::int64_t>(step, 1)) shown.push_back(i);
  return shown;
}

std::vector<double> numbers_from(const RecordPart& part, const char* key, std::size_t count) {
  std::vector<double> numbers;
  part.each(key, [&](const json& each, const auto& place) {
    if (!each.is_number()) refuse("{}: expected a number, found {}", place(), each.type_name());
    numbers.push_back(each.get<double>());
  });
  if (numbers.size() != count) refuse("{}: {} numbers, not {}", part.place_of(key), numbers.size(), count);
  return numbers;
}

}  // namespace

CubeView view_of(const SpectralPixels& cube, std::string name) {
  CubeView view;
  view.name = std::move(name);
  view.channels = channels_to_view(cube.channels);
  const auto width = static_cast<std::int64_t>(view.channels.size());
  const PixelBlocks blocks = blocks_for(cube.height, cube.width, most_viewed_numbers / width);
  view.side = blocks.side;
  view.height = blocks.height;
  view.width = blocks.width;
  std::string bytes(static_cast<std::size_t>(blocks.height * blocks.width * width), '\0');
  for (std::size_t c = 0; c < view.channels.size(); ++c) {
    const std::vector<float> means = means_of_blocks(cube, view.channels[c], blocks);
    double least = INFINITY, most = -INFINITY;
    for (const float each : means) {
      if (!std::isfinite(each)) continue;
      least = std::min(least, static_cast<double>(each));
      most = std::max(most, static_cast<double>(each));
    }
    if (least > most) least = most = 0;
    view.least.push_back(least);
    view.most.push_back(most);
    if (!cube.wavelengths.empty())
      view.wavelengths.push_back(cube.wavelengths[static_cast<std::size_t>(view.channels[c])]);
    for (std::size_t i = 0; i < means.size(); ++i)
      if (std::isfinite(means[i]))
        bytes[i * view.channels.size() + c] = static_cast<char>(static_cast<unsigned char>(
            1 +
            std::lround(most > least ? 254 * (static_cast<double>(means[i]) - least) / (most - least) : 0)));
  }
  view.values = base64_of(bytes);
  const std::vector<std::uint8_t> marks = marks_of_blocks(cube, blocks);
  view.mask = base64_of({reinterpret_cast<const char*>(marks.data()), marks.size()});
  return view;
}

void write_cube_view(const CubeView& view, const fs::path& file) {
  const json written{{"name", view.name},   {"side", view.side},         {"height", view.height},
                     {"width", view.width}, {"channels", view.channels}, {"wavelengths", view.wavelengths},
                     {"least", view.least}, {"most", view.most},         {"values", view.values},
                     {"mask", view.mask}};
  make_folder(file.parent_path());
  write_file(file, written.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

CubeView read_cube_view(const fs::path& file) {
  const auto read = [&] {
    try {
      return config::parse_bounded_json(read_file(file, largest_view), {});
    } catch (const json::parse_error&) {
      refuse("{} is damaged: it is not JSON", file.string());
    }
  };
  const json written = read();
  const RecordPart part(written, [&] { return file.string(); });
  CubeView view;
  view.name = part.text("name");
  view.side = part.whole("side", 1, 1);
  view.height = part.whole("height", 1, 1);
  view.width = part.whole("width", 1, 1);
  part.each("channels", [&](const json& each, const auto& place) {
    if (!each.is_number_unsigned()) refuse("{}: expected a channel, found {}", place(), each.type_name());
    view.channels.push_back(each.get<std::int64_t>());
  });
  const std::size_t channels = view.channels.size();
  view.least = numbers_from(part, "least", channels);
  view.most = numbers_from(part, "most", channels);
  const auto wavelengths = written.find("wavelengths");
  if (wavelengths != written.end() && !wavelengths->empty())
    view.wavelengths = numbers_from(part, "wavelengths", channels);
  if (channels == 0 || view.height > most_viewed_numbers || view.width > most_viewed_numbers)
    refuse("{} has {} x {} pixels with {} channels, which is no cube", file.string(), view.height, view.width,
           channels);
  const auto pixels = static_cast<std::size_t>(view.height * view.width);
  const auto letters = [&](const char* key) {
    const auto found = written.find(key);
    return found != written.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  view.values = letters("values");
  view.mask = letters("mask");
  if (pixels > largest_view || !is_base64_of(view.values, pixels * channels) ||
      (!view.mask.empty() && !is_base64_of(view.mask, pixels)))
    refuse("{} is damaged: it does not hold as many values as it should", file.string());
  return view;
}

std::vector<CubeView> read_cube_views(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unknown;
    if (entry->path().extension() == ".json" && fs::is_regular_file(entry->symlink_status(unknown)))
      files.push_back(entry->path());
  }
  std::ranges::sort(files);
  if (files.size() > most_views) files.resize(most_views);
  std::vector<CubeView> views;
  for (const fs::path& each : files) views.push_back(read_cube_view(each));
  return views;
}

}  // namespace stoker
