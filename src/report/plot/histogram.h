#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

// Counts of values in bins of one width; edges are round numbers, and zero is one of them.
struct Histogram {
  double first_edge = 0;
  double width = 1;
  std::vector<std::int64_t> counts;
  // Values beyond the first and last bin are counted in them; these say how many.
  std::int64_t below = 0;
  std::int64_t above = 0;

  double centre(std::size_t bin) const { return first_edge + (static_cast<double>(bin) + 0.5) * width; }
};

// Width after Freedman and Diaconis (2 · interquartile range / ∛n), rounded to 1, 2 or 5 times a power of
// ten. A few far outliers do not widen the picture: it spans at most 100 bins around the median. Values must
// be finite.
Histogram histogram_of(std::vector<double> values);

}  // namespace stoker
