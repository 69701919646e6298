#pragma once

#include <optional>
#include <vector>

#include "predict/measure/evaluation.h"

namespace stoker {

// A row of a map that can be drawn.
struct DrawnPlace {
  double actual_x;
  double actual_y;
  double predicted_x;
  double predicted_y;
  double radius;  // 0: not told
};

struct DrawnMap {
  std::vector<DrawnPlace> places;
  // What is drawn, as wide as it is high: a kilometre is as long in one direction as in the other.
  double left = 0;
  double bottom = 0;
  double side = 1;
};

// None where the evaluation has no map, or nothing on it.
std::optional<DrawnMap> drawn_map(const Evaluation& evaluation);

}  // namespace stoker
