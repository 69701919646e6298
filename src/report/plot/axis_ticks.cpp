#include "report/plot/axis_ticks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/text/text.h"
#include "report/plot/gnuplot.h"

namespace stoker {
namespace {

constexpr std::size_t longest_name = 18;  // characters; of a longer name the middle is left out
constexpr std::size_t fewest_ticks = 3;
constexpr int most_steps = 100;
constexpr std::size_t most_ticks = 9;
const std::vector<double> fonts_of_ticks{16, 13, 11};

struct TickLayout {
  double font = fonts_of_ticks.back();
  bool is_turned = false;
  std::size_t step = 1;
};

std::size_t widest_of(const std::vector<std::string>& names) {
  std::size_t widest = 1;
  for (const std::string& name : names)
    widest = std::max(widest, std::min(longest_name, characters_in(name)));
  return widest;
}

std::string first_characters(std::string_view text, std::size_t count) {
  std::size_t bytes = 0;
  for (; count > 0 && bytes < text.size(); --count) bytes += bytes_of_character(text.substr(bytes));
  return std::string(text.substr(0, bytes));
}

// Names that begin alike differ at their ends.
std::string without_middle(const std::string& name) {
  const std::size_t length = characters_in(name);
  if (length <= longest_name) return name;
  constexpr std::size_t at_end = longest_name / 2 - 1;
  const std::size_t before_end = first_characters(name, length - at_end).size();
  return first_characters(name, longest_name - 1 - at_end) + "…" + name.substr(before_end);
}

// The first font for which names need no more than this, else every so many of them in the last.
TickLayout layout_for(double room, double needed_in_font, bool is_turned) {
  TickLayout layout{fonts_of_ticks.back(), is_turned, 1};
  for (const double font : fonts_of_ticks) {
    if (needed_in_font * pixels_of_font(font) > room) continue;
    layout.font = font;
    return layout;
  }
  const double needed = needed_in_font * pixels_of_font(layout.font);
  layout.step = static_cast<std::size_t>(std::ceil(needed / room));
  return layout;
}

std::string tics_at(char axis, const std::vector<std::string>& names, const TickLayout& layout) {
  std::vector<std::string> ticks;
  for (std::size_t i = 0; i < names.size(); i += layout.step)
    ticks.push_back(fmt::format("{} {}", gnuplot_text(without_middle(names[i])), i));
  return fmt::format("set {}tics {} ({}) noenhanced scale 0 font ',{}'\n", axis,
                     layout.is_turned ? "rotate by 45 right" : "norotate", join(ticks, ", "), layout.font);
}

// Of all decades those times these factors.
std::vector<double> ticks_between(double low, double high, const std::vector<double>& factors) {
  std::vector<double> ticks;
  for (double decade = std::floor(std::log10(low)); decade <= std::ceil(std::log10(high)); ++decade)
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, decade);
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  return ticks;
}

// Within a decade there are as many as on a straight axis.
std::vector<double> straight_ticks(double low, double high) {
  std::vector<double> ticks;
  const double decade = std::pow(10.0, std::floor(std::log10((high - low) / 2)));
  for (const double factor : {5, 2, 1}) {
    const double step = factor * decade;
    ticks.clear();
    // Steps that the numbers are too large to take would never end.
    const double first = std::ceil(low / step);
    for (int i = 0; i < most_steps && (first + i) * step <= high; ++i) ticks.push_back((first + i) * step);
    if (ticks.size() >= fewest_ticks) break;
  }
  return ticks;
}

std::vector<double> round_ticks(double low, double high) {
  for (const std::vector<double>& factors : {std::vector<double>{1}, {1, 3}, {1, 2, 5}}) {
    std::vector<double> ticks = ticks_between(low, high, factors);
    if (ticks.size() >= fewest_ticks) return ticks;
  }
  return low < high ? straight_ticks(low, high) : std::vector{low};
}

}  // namespace

std::string named_x_tics(const std::vector<std::string>& names, double pixels) {
  if (names.empty()) return "";
  const double room = pixels / static_cast<double>(names.size());
  constexpr double gap = 1;  // between two names side by side, in the font's size
  const double side_by_side = static_cast<double>(widest_of(names)) * width_of_character + gap;
  const TickLayout level = layout_for(room, side_by_side, false);
  // Turned by 45 degrees, lines are as far apart as their places times the sine of that.
  return tics_at('x', names,
                 level.step == 1 ? level : layout_for(room, height_of_line * std::sqrt(2.0), true));
}

std::string named_y_tics(const std::vector<std::string>& names, double pixels) {
  if (names.empty()) return "";
  return tics_at('y', names, layout_for(pixels / static_cast<double>(names.size()), height_of_line, false));
}

std::string logarithmic_x_axis(double low, double high) {
  const std::vector<double> ticks = round_ticks(low, high);
  const std::size_t step = (ticks.size() + most_ticks - 1) / most_ticks;
  std::vector<std::string> written;
  for (std::size_t i = 0; i < ticks.size(); i += step)
    written.push_back(fmt::format("'{:.4g}' {:.9g}", ticks[i], ticks[i]));
  // Left to itself, gnuplot goes on to the next power of ten.
  const double room = low < high ? std::pow(high / low, 0.05) : 1.5;
  return fmt::format("set logscale x\nset xrange [{:.9g}:{:.9g}]\nset xtics ({})\n", low / room, high * room,
                     join(written, ", "));
}

double font_that_fits(std::size_t characters, double width, double height,
                      const std::vector<double>& points) {
  for (const double each : points) {
    const double font = pixels_of_font(each);
    const bool fits = static_cast<double>(characters) * width_of_character * font + 0.5 * font <= width &&
                      height_of_line * font <= height;
    if (fits) return each;
  }
  return 0;
}

}  // namespace stoker
