#include "report/plot/histogram.h"

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

constexpr double most_bins = 100;

double rounded_width(double width) {
  const double power = std::pow(10.0, std::floor(std::log10(width)));
  const double steps = width / power;
  return (steps < 1.5 ? 1 : steps < 3.5 ? 2 : steps < 7.5 ? 5 : 10) * power;
}

// Of sorted values. Where more than half of them are alike, the whole span has to do.
double bin_width(const std::vector<double>& values) {
  const std::size_t size = values.size();
  const double quartiles = values[size * 3 / 4] - values[size / 4];
  const double span = values.back() - values.front();
  double width = 2 * quartiles / std::cbrt(static_cast<double>(size));
  if (!(width > 0)) width = span / 20;
  // Below the resolution of the numbers themselves, bins would be empty by rounding.
  const double size_of_values = std::max(std::abs(values.front()), std::abs(values.back()));
  const double finest = std::max(size_of_values * 1e-12, 1e-300);
  if (!(width > finest)) width = std::max(size_of_values * 0.1, finest);
  return rounded_width(std::max(width, span / 1e9));
}

}  // namespace

Histogram histogram_of(std::vector<double> values) {
  Histogram histogram;
  if (values.empty()) return histogram;
  std::sort(values.begin(), values.end());
  histogram.width = bin_width(values);
  const double median = values[values.size() / 2];
  const double lowest = std::max(values.front(), median - most_bins / 2 * histogram.width);
  const double highest = std::min(values.back(), median + most_bins / 2 * histogram.width);
  const double first_bin = std::floor(lowest / histogram.width);
  const double bins = std::floor(highest / histogram.width) - first_bin + 1;
  histogram.first_edge = first_bin * histogram.width;
  histogram.counts.resize(static_cast<std::size_t>(std::clamp(bins, 1.0, most_bins + 2)));
  const double last = static_cast<double>(histogram.counts.size() - 1);
  for (const double value : values) {
    const double bin = std::floor(value / histogram.width) - first_bin;
    if (bin < 0) ++histogram.below;
    if (bin > last) ++histogram.above;
    ++histogram.counts[static_cast<std::size_t>(std::clamp(bin, 0.0, last))];
  }
  return histogram;
}

}  // namespace stoker
