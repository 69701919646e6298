#include "report/plot/drawn_map.h"

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

bool can_be_on_a_map(double value) {
  return std::abs(value) < 1e100;
}

// Circles may reach beyond the edge; places may not.
void frame(DrawnMap& map) {
  double left = map.places.front().actual_x;
  double right = left;
  double bottom = map.places.front().actual_y;
  double top = bottom;
  for (const DrawnPlace& each : map.places) {
    left = std::min({left, each.actual_x, each.predicted_x});
    right = std::max({right, each.actual_x, each.predicted_x});
    bottom = std::min({bottom, each.actual_y, each.predicted_y});
    top = std::max({top, each.actual_y, each.predicted_y});
  }
  const double widest = std::max(right - left, top - bottom);
  map.side = widest > 0 ? 1.08 * widest : 1;
  map.left = (left + right - map.side) / 2;
  map.bottom = (bottom + top - map.side) / 2;
}

}  // namespace

std::optional<DrawnMap> drawn_map(const Evaluation& evaluation) {
  const auto* chart = evaluation.chart<PositionMap>();
  if (chart == nullptr) return std::nullopt;
  DrawnMap map;
  for (std::size_t i = 0; i < chart->actual_x.size(); ++i) {
    const DrawnPlace place{chart->actual_x[i], chart->actual_y[i], chart->predicted_x[i],
                           chart->predicted_y[i], chart->radius.empty() ? 0 : chart->radius[i]};
    if (can_be_on_a_map(place.actual_x) && can_be_on_a_map(place.actual_y) &&
        can_be_on_a_map(place.predicted_x) && can_be_on_a_map(place.predicted_y) &&
        can_be_on_a_map(place.radius) && place.radius >= 0)
      map.places.push_back(place);
  }
  if (map.places.empty()) return std::nullopt;
  frame(map);
  // Places that differ by less than their own rounding show nothing.
  if (map.side < 1e-9 * std::max(std::abs(map.left), std::abs(map.bottom))) return std::nullopt;
  return map;
}

}  // namespace stoker
