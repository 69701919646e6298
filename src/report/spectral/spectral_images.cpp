#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "report/page/base64.h"
#include "report/spectral/spectral_pictures.h"

namespace stoker {
namespace {

// Viridis, which keeps its order in grey and for eyes that tell fewer colours apart.
constexpr const char* heat_palette =
    "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n";

// The edges between pixels that are marked and others, each a line of two points.
std::string outline_of(const std::string& marks, const CubeImage& image) {
  std::string lines;
  const auto is_marked = [&](std::int64_t x, std::int64_t y) {
    return x >= 0 && y >= 0 && x < image.width && y < image.height &&
           marks[static_cast<std::size_t>(y * image.width + x)] != 0;
  };
  const auto line = [&](double x1, double y1, double x2, double y2) {
    fmt::format_to(std::back_inserter(lines), "{} {}\n{} {}\n\n", x1, y1, x2, y2);
  };
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; ++x) {
      if (!is_marked(x, y)) continue;
      const double left = static_cast<double>(x) - 0.5, top = static_cast<double>(y) - 0.5;
      if (!is_marked(x - 1, y)) line(left, top, left, top + 1);
      if (!is_marked(x + 1, y)) line(left + 1, top, left + 1, top + 1);
      if (!is_marked(x, y - 1)) line(left, top, left + 1, top);
      if (!is_marked(x, y + 1)) line(left, top + 1, left + 1, top + 1);
    }
  return lines;
}

// How gnuplot draws it over an image; nothing where nothing is marked.
std::string add_outline(const std::string& marks, const CubeImage& image, const std::string& name,
                        GnuplotPicture& picture) {
  std::string outline = marks.empty() ? "" : outline_of(bytes_of_base64(marks), image);
  if (outline.empty()) return "";
  picture.files.emplace_back(name + ".txt", std::move(outline));
  return fmt::format(", '{}.txt' using 1:2 with lines linecolor rgb ", name);
}

// Where a pixel is drawn along a side of so many: gnuplot draws nothing of a single line, so that it is given
// two halves.
std::span<const double> halves_of(std::int64_t side) {
  static constexpr std::array whole{0.0};
  static constexpr std::array halves{-0.25, 0.25};
  if (side == 1) return halves;
  return whole;
}

std::string colours_file(const CubeImage& image) {
  const std::string bytes = bytes_of_base64(image.colours);
  std::string data;
  for (std::size_t i = 0; 3 * i < bytes.size(); ++i) {
    const auto colour = [&](std::size_t at) {
      return static_cast<int>(static_cast<unsigned char>(bytes[3 * i + at]));
    };
    const std::size_t x = i % static_cast<std::size_t>(image.width);
    const std::size_t y = i / static_cast<std::size_t>(image.width);
    for (const double up : halves_of(image.height))
      for (const double aside : halves_of(image.width))
        fmt::format_to(std::back_inserter(data), FMT_COMPILE("{} {} {} {} {}\n"),
                       static_cast<double>(x) + aside, static_cast<double>(y) + up, colour(0), colour(1),
                       colour(2));
  }
  return data;
}

// Numbers of 32 bits, which gnuplot reads many times as fast as text; NaN is none.
std::string scores_file(const CubeImage& image) {
  const std::string bytes = bytes_of_base64(image.scores);
  std::vector<float> scores;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    const float score =
        byte == 0 ? std::numeric_limits<float>::quiet_NaN()
                  : static_cast<float>(image.lowest + (image.highest - image.lowest) * (byte - 1) / 254.0);
    scores.insert(scores.end(), halves_of(image.width).size(), score);
  }
  if (image.height == 1) {
    const std::vector<float> line = scores;
    scores.insert(scores.end(), line.begin(), line.end());
  }
  return {reinterpret_cast<const char*>(scores.data()), scores.size() * sizeof(float)};
}

// In the middle of its half, whatever its shape: gnuplot would put it into a corner.
std::string margins_around(const CubeImage& image, double left, double right) {
  constexpr double bottom = 0.12, top = 0.86;
  constexpr double canvas_width_to_height = 1.5;
  const double ratio = stretch_of_pixels(image.height, image.width) * static_cast<double>(image.height) /
                       static_cast<double>(image.width);
  const double width = std::min(right - left, (top - bottom) / canvas_width_to_height / ratio);
  const double height = width * canvas_width_to_height * ratio;
  const double x = (left + right - width) / 2, y = (bottom + top - height) / 2;
  return fmt::format(
      "set lmargin at screen {:.6g}\nset rmargin at screen {:.6g}\nset bmargin at screen {:.6g}\n"
      "set tmargin at screen {:.6g}\n",
      x, x + width, y, y + height);
}

}  // namespace

std::string words_of_colours(const CubeView& view) {
  const auto& [red, green, blue] = view.image.channels;
  std::string words = fmt::format("channels {}, {} and {}", red + 1, green + 1, blue + 1);
  if (const std::vector<double>& nm = view.image.wavelengths; !nm.empty())
    words += fmt::format(" ({:.4g}, {:.4g} and {:.4g} nm)", nm[0], nm[1], nm[2]);
  return words;
}

// From the lowest to the highest score. gnuplot rejects a range whose ends are the same once they are written
// with nine digits, so scores that are all alike get one around them.
std::pair<double, double> color_range(const CubeImage& image) {
  if (!std::isfinite(image.lowest) || !std::isfinite(image.highest)) return {0, 1};
  const double least = std::max(std::abs(image.lowest), std::abs(image.highest)) * 1e-6;
  if (image.highest - image.lowest > least) return {image.lowest, image.highest};
  const double room = least > 0 ? least : 0.5;
  return {image.lowest - room, image.highest + room};
}

GnuplotPicture cube_picture(const CubeView& view) {
  const CubeImage& image = view.image;
  GnuplotPicture picture;
  const std::string actual = add_outline(image.actual, image, "marked", picture);
  const std::string found = add_outline(image.found, image, "found", picture);
  // The line around what was found is wider and below, so that it shows on both sides of one around marks.
  const auto outlined = [](const std::string& outline, const char* colour, const char* title) {
    return outline.empty() ? "" : fmt::format("{}'{}' {}", outline, colour, title);
  };
  picture.commands = fmt::format(
      "set multiplot title {} font ',18' noenhanced\nunset grid\nunset border\nunset tics\n"
      "set size ratio {:.9g}\nset xrange [-0.5:{}]\nset yrange [{}:-0.5]\n"
      "set key at screen 0.245, screen 0.06 center horizontal\nset title font ',14'\n",
      gnuplot_text(view.reason.empty() ? view.name : fmt::format("{}: {}", view.name, view.reason), 100),
      -stretch_of_pixels(image.height, image.width), static_cast<double>(image.width) - 0.5,
      static_cast<double>(image.height) - 0.5);
  picture.commands +=
      fmt::format("{}set title {}\nplot 'colours.txt' using 1:2:3:4:5 with rgbimage notitle{}{}\n",
                  margins_around(image, 0.03, 0.46), gnuplot_text(words_of_colours(view)),
                  outlined(found, "#22d3ee", "linewidth 3.2 title 'found'"),
                  outlined(actual, "#facc15", "linewidth 1.4 title 'marked'"));
  const auto [low, high] = color_range(image);
  const std::span<const double> across = halves_of(image.width), down = halves_of(image.height);
  picture.commands += fmt::format(
      "{}unset key\n{}set colorbox user origin screen 0.935,0.25 size screen 0.012,0.5\n"
      "set cbrange [{:.9g}:{:.9g}]\nset cbtics textcolor rgb '#465064' font ',10'\nset format cb '%g'\n"
      "set title 'scores'\n"
      "plot 'scores.bin' binary array=({},{}) dx={:.9g} dy={:.9g} origin=({:.9g},{:.9g}) format='%float32' "
      "with image notitle{}\nunset multiplot\n",
      margins_around(image, 0.49, 0.92), heat_palette, low, high, image.width * std::ssize(across),
      image.height * std::ssize(down), 1.0 / static_cast<double>(across.size()),
      1.0 / static_cast<double>(down.size()), across.front(), down.front(),
      outlined(actual, "#ffffff", "linewidth 1.6 notitle"));
  picture.files.emplace_back("colours.txt", colours_file(image));
  picture.files.emplace_back("scores.bin", scores_file(image));
  return picture;
}

}  // namespace stoker
