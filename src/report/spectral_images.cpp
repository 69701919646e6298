#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/quantile.h"
#include "report/pixel_blocks.h"
#include "report/spectral_pictures.h"

namespace stoker {
namespace {

constexpr std::int64_t most_drawn_pixels = 400 * 400;

std::vector<float> finite_of(const std::vector<float>& values) {
  std::vector<float> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](float each) { return std::isfinite(each); });
  return finite;
}

std::int64_t nearest_to(std::span<const double> wavelengths, double wanted) {
  return std::ranges::min_element(wavelengths, {}, [&](double each) { return std::abs(each - wanted); }) -
         wavelengths.begin();
}

// An image that fills the picture as far as its shape lets it, the first line on top.
std::string image_frame(const PixelBlocks& blocks, const std::string& title) {
  return fmt::format(
      "set title {}\nunset key\nunset grid\nunset border\nunset tics\nset size ratio -1\n"
      "set xrange [-0.5:{}]\nset yrange [{}:-0.5]\n",
      gnuplot_text(title), static_cast<double>(blocks.width) - 0.5, static_cast<double>(blocks.height) - 0.5);
}

// The edges between pixels that are marked and others, each a line of two points.
std::string outline_of(const std::vector<std::uint8_t>& marks, const PixelBlocks& blocks) {
  std::string lines;
  const auto is_marked = [&](std::int64_t x, std::int64_t y) {
    return x >= 0 && y >= 0 && x < blocks.width && y < blocks.height &&
           marks[static_cast<std::size_t>(y * blocks.width + x)] != 0;
  };
  const auto line = [&](double x1, double y1, double x2, double y2) {
    fmt::format_to(std::back_inserter(lines), "{} {}\n{} {}\n\n", x1, y1, x2, y2);
  };
  for (std::int64_t y = 0; y < blocks.height; ++y)
    for (std::int64_t x = 0; x < blocks.width; ++x) {
      if (!is_marked(x, y)) continue;
      const double left = static_cast<double>(x) - 0.5, top = static_cast<double>(y) - 0.5;
      if (!is_marked(x - 1, y)) line(left, top, left, top + 1);
      if (!is_marked(x + 1, y)) line(left + 1, top, left + 1, top + 1);
      if (!is_marked(x, y - 1)) line(left, top, left + 1, top);
      if (!is_marked(x, y + 1)) line(left, top + 1, left + 1, top + 1);
    }
  return lines;
}

void add_outline(const SpectralPixels& cube, const PixelBlocks& blocks, const char* colour,
                 GnuplotPicture& picture) {
  const std::vector<std::uint8_t> marks = marks_of_blocks(cube, blocks);
  std::string outline = marks.empty() ? "" : outline_of(marks, blocks);
  if (!outline.empty()) {
    picture.commands +=
        fmt::format(", 'outline.txt' using 1:2 with lines linewidth 1.6 linecolor rgb '{}'", colour);
    picture.files.emplace_back("outline.txt", std::move(outline));
  }
  picture.commands += "\n";
}

}  // namespace

std::array<std::int64_t, 3> false_colour_channels(const SpectralPixels& cube) {
  if (!cube.wavelengths.empty()) {
    const auto [least, most] = std::ranges::minmax(cube.wavelengths);
    if (least <= 470 && most >= 630)
      return {nearest_to(cube.wavelengths, 650), nearest_to(cube.wavelengths, 550),
              nearest_to(cube.wavelengths, 450)};
  }
  return {cube.channels - 1, cube.channels / 2, 0};
}

GnuplotPicture false_colour_picture(const SpectralPixels& cube, const std::string& title) {
  const PixelBlocks blocks = blocks_for(cube.height, cube.width, most_drawn_pixels);
  std::array<std::vector<float>, 3> colours;
  const std::array<std::int64_t, 3> channels = false_colour_channels(cube);
  for (std::size_t i = 0; i < 3; ++i) {
    colours[i] = means_of_blocks(cube, channels[i], blocks);
    std::vector<float> finite = finite_of(colours[i]);
    const double low = finite.empty() ? 0 : quantile_of(finite, 0.02);
    const double high = finite.empty() ? 1 : quantile_of(finite, 0.98);
    for (float& each : colours[i])
      each = std::isfinite(each)
                 ? static_cast<float>(std::clamp(
                       255 * (static_cast<double>(each) - low) / std::max(high - low, 1e-12), 0.0, 255.0))
                 : 0.0F;
  }
  std::string data;
  for (std::int64_t y = 0; y < blocks.height; ++y)
    for (std::int64_t x = 0; x < blocks.width; ++x) {
      const auto i = static_cast<std::size_t>(y * blocks.width + x);
      fmt::format_to(std::back_inserter(data), "{} {} {:.0f} {:.0f} {:.0f}\n", x, y, colours[0][i],
                     colours[1][i], colours[2][i]);
    }
  GnuplotPicture picture{image_frame(blocks, title) + "plot 'rgb.txt' using 1:2:3:4:5 with rgbimage",
                         {{"rgb.txt", std::move(data)}}};
  add_outline(cube, blocks, "#facc15", picture);
  return picture;
}

GnuplotPicture heat_picture(const SpectralPixels& cube, std::span<const float> scores,
                            const std::string& title) {
  SpectralPixels one = cube;
  one.channels = 1;
  one.values = scores;
  const PixelBlocks blocks = blocks_for(cube.height, cube.width, most_drawn_pixels);
  const std::vector<float> means = means_of_blocks(one, 0, blocks);
  std::vector<float> finite = finite_of(means);
  const double low = finite.empty() ? 0 : static_cast<double>(*std::ranges::min_element(finite));
  const double high = finite.empty() ? 1 : quantile_of(finite, 0.995);
  std::string data;
  for (std::int64_t y = 0; y < blocks.height; ++y)
    for (std::int64_t x = 0; x < blocks.width; ++x) {
      const float mean = means[static_cast<std::size_t>(y * blocks.width + x)];
      fmt::format_to(std::back_inserter(data), "{} {} {}\n", x, y,
                     std::isfinite(mean) ? fmt::format("{:.6g}", mean) : "NaN");
    }
  // Viridis, which keeps its order in grey and for eyes that tell fewer colours apart.
  GnuplotPicture picture{
      image_frame(blocks, title) +
          fmt::format(
              "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
              "set cbrange [{:.9g}:{:.9g}]\nset cbtics textcolor rgb '#465064'\n"
              "set cblabel 'Score' textcolor rgb '#465064'\nset rmargin 12\n"
              "plot 'scores.txt' using 1:2:3 with image",
              low, high > low ? high : low + 1),
      {{"scores.txt", std::move(data)}}};
  add_outline(cube, blocks, "#ffffff", picture);
  return picture;
}

}  // namespace stoker
