#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/text/text.h"
#include "report/plot/drawn_map.h"
#include "report/run/sections.h"

namespace stoker {
namespace {

constexpr double pixels_of_map = 640;
constexpr double margin_of_map = 56;  // for the numbers along the left and the lower edge
constexpr int most_grid_lines = 50;
constexpr double longest_circle = 4 * pixels_of_map;

// The largest of 1, 2 and 5 times a power of ten that gives at least four lines.
double step_of_grid(double side) {
  const double power = std::pow(10.0, std::floor(std::log10(side / 4)));
  for (const double each : {5.0, 2.0})
    if (each * power <= side / 4) return each * power;
  return power;
}

std::string grid_of(const DrawnMap& map, double per_unit) {
  std::string lines;
  const double step = step_of_grid(map.side);
  const auto along = [&](double from, bool is_upright) {
    const double first = std::ceil(from / step) * step;
    for (int line = 0; line < most_grid_lines && first + line * step <= from + map.side; ++line) {
      const double value = first + line * step;
      const double at = (value - from) * per_unit;
      const std::string label = fmt::format("{:.6g}", std::abs(value) < step / 1e6 ? 0.0 : value);
      if (is_upright) {
        fmt::format_to(
            std::back_inserter(lines),
            "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/><text x=\"{0:.1f}\" y=\"{2}\" "
            "text-anchor=\"middle\">{3}</text>\n",
            margin_of_map + at, pixels_of_map, pixels_of_map + 20, label);
      } else {
        fmt::format_to(
            std::back_inserter(lines),
            "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
            "text-anchor=\"end\">{5}</text>\n",
            margin_of_map, margin_of_map + pixels_of_map, pixels_of_map - at, margin_of_map - 8,
            pixels_of_map - at + 4, label);
      }
    }
  };
  along(map.left, true);
  along(map.bottom, false);
  return "<g class=\"map-grid\">\n" + lines + "</g>\n";
}

std::string picture_of(const DrawnMap& map) {
  const double per_unit = pixels_of_map / map.side;
  const auto x = [&](double value) { return margin_of_map + (value - map.left) * per_unit; };
  const auto y = [&](double value) { return pixels_of_map - (value - map.bottom) * per_unit; };
  std::string circles;
  std::string errors;
  std::string places;
  for (const DrawnPlace& each : map.places) {
    if (each.radius > 0)
      fmt::format_to(std::back_inserter(circles), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>\n",
                     x(each.predicted_x), y(each.predicted_y),
                     std::min(each.radius * per_unit, longest_circle));
    fmt::format_to(std::back_inserter(errors),
                   "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x(each.actual_x),
                   y(each.actual_y), x(each.predicted_x), y(each.predicted_y));
    fmt::format_to(std::back_inserter(places), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n",
                   x(each.actual_x), y(each.actual_y));
  }
  return fmt::format(
      "<svg class=\"map\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Map of actual and predicted "
      "places\">\n"
      "<clipPath id=\"map-edge\"><rect x=\"{}\" y=\"0\" width=\"{}\" height=\"{}\"/></clipPath>\n{}"
      "<g clip-path=\"url(#map-edge)\">\n<g class=\"map-region\">\n{}</g>\n<g class=\"map-error\">\n{}</g>\n"
      "<g class=\"map-place\">\n{}</g>\n</g>\n</svg>\n",
      pixels_of_map + margin_of_map + 8, pixels_of_map + 28, margin_of_map, pixels_of_map, pixels_of_map,
      grid_of(map, per_unit), circles, errors, places);
}

}  // namespace

std::string map_section(const RunContents& contents) {
  std::string maps;
  bool has_regions = false;
  for (const CardEvaluation& each : contents.evaluations) {
    const auto map = drawn_map(each.evaluation);
    if (!map) continue;
    if (contents.evaluations.size() > 1) maps += fmt::format("<h3>{}</h3>\n", html_escaped(each.card));
    maps += picture_of(*map);
    has_regions = has_regions ||
                  std::ranges::any_of(map->places, [](const DrawnPlace& place) { return place.radius > 0; });
  }
  if (maps.empty()) return "";
  return fmt::format(
      "<section>\n<h2>Map</h2>\n{}<p class=\"hint\">A dot is where a row really is, and a line leads to "
      "where it was "
      "predicted.{} At most 200 rows are drawn, evenly spaced.</p>\n</section>\n",
      maps,
      has_regions
          ? " The circle around that is to hold 68 of 100 such rows; where the model is unsure, it is large."
          : "");
}

}  // namespace stoker
