#include "predict/decide/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stoker {
namespace {

constexpr std::size_t ranges = 10;

struct Range {
  double probabilities = 0;
  double came_true = 0;
  std::int64_t rows = 0;
};

void add_row(std::array<Range, ranges>& all, double probability, bool came_true) {
  const auto place = static_cast<std::size_t>(std::clamp(probability, 0.0, 1.0) * double{ranges});
  Range& range = all[std::min(place, ranges - 1)];
  range.probabilities += probability;
  range.came_true += came_true ? 1 : 0;
  ++range.rows;
}

}  // namespace

Calibration calibration_of(const ClassRows& rows, const std::vector<std::string>& class_names) {
  const bool of_second = class_names.size() == 2;
  std::array<Range, ranges> all{};
  std::size_t row = 0;
  rows.predicted([&](const Predictions& piece) {
    const std::size_t width = piece.class_names.size();
    for (std::size_t i = 0; i < piece.classes.size(); ++i, ++row) {
      const std::int64_t judged = of_second ? 1 : piece.classes[i];
      add_row(all, piece.probabilities[i * width + static_cast<std::size_t>(judged)],
              rows.actual[row] == judged);
    }
  });
  Calibration calibration;
  calibration.of_class = of_second ? class_names[1] : "";
  for (const Range& range : all) {
    if (range.rows == 0) continue;
    const auto count = static_cast<double>(range.rows);
    calibration.predicted.push_back(range.probabilities / count);
    calibration.observed.push_back(range.came_true / count);
    calibration.rows.push_back(range.rows);
    calibration.expected_error +=
        std::abs(range.probabilities - range.came_true) / static_cast<double>(rows.actual.size());
  }
  return calibration;
}

}  // namespace stoker
