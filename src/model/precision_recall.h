#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stoker {

// As the threshold falls from one score of a marked pixel to the next: between two of them recall stays.
struct PrecisionRecall {
  std::vector<double> recall;
  std::vector<double> precision;
  double average_precision = 0;  // the sum of precisions, each times the recall that it adds
  double marked_share = 0;       // of the pixels with a score: the precision of scores that say nothing
};

// Of all pixels; those whose score is NaN do not count. Without points where none is marked.
PrecisionRecall precision_recall(std::span<const float> scores, std::span<const std::uint8_t> marks);

// With at most so many points, the first and the last among them.
PrecisionRecall thinned(const PrecisionRecall& curve, std::size_t most);

}  // namespace stoker
