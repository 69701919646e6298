#include "model/precision_recall.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>

#include "device/workers.h"

namespace stoker {
namespace {

constexpr std::size_t pixels_at_a_time = std::size_t{1} << 16U;

// For each of the falling scores, how many others reach it but none before it. Only few pixels are marked,
// so that to look each of the others up takes less than to sort all.
std::vector<std::int64_t> others_from(const std::vector<float>& falling, std::span<const float> scores,
                                      std::span<const std::uint8_t> marks) {
  std::vector<std::int64_t> counts(falling.size());
  std::mutex adding;
  const std::size_t parts = (scores.size() + pixels_at_a_time - 1) / pixels_at_a_time;
  share_among_cores(static_cast<std::int64_t>(parts), [&](std::int64_t part) {
    std::vector<std::int64_t> own(falling.size());
    const std::size_t first = static_cast<std::size_t>(part) * pixels_at_a_time;
    for (std::size_t i = first; i < std::min(scores.size(), first + pixels_at_a_time); ++i) {
      // A NaN reaches nothing.
      if (marks[i] != 0 || !(scores[i] >= falling.back())) continue;
      ++own[static_cast<std::size_t>(std::ranges::lower_bound(falling, scores[i], std::greater()) -
                                     falling.begin())];
    }
    const std::lock_guard lock(adding);
    std::ranges::transform(counts, own, counts.begin(), std::plus());
  });
  return counts;
}

}  // namespace

PrecisionRecall precision_recall(std::span<const float> scores, std::span<const std::uint8_t> marks) {
  PrecisionRecall found;
  std::vector<float> falling;
  std::size_t scored = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) continue;
    ++scored;
    if (marks[i] != 0) falling.push_back(scores[i]);
  }
  if (falling.empty()) return found;
  std::ranges::sort(falling, std::greater());
  const auto marked = static_cast<double>(falling.size());
  const std::vector<std::int64_t> others = others_from(falling, scores, marks);
  found.marked_share = marked / static_cast<double>(scored);
  double wrong = 0;
  for (std::size_t first = 0, last = 0; first < falling.size(); first = last) {
    for (last = first; last < falling.size() && falling[last] == falling[first]; ++last)
      wrong += static_cast<double>(others[last]);
    const auto hits = static_cast<double>(last);
    found.recall.push_back(hits / marked);
    found.precision.push_back(hits / (hits + wrong));
    found.average_precision += static_cast<double>(last - first) / marked * found.precision.back();
  }
  return found;
}

PrecisionRecall thinned(const PrecisionRecall& curve, std::size_t most) {
  const std::size_t points = curve.recall.size();
  if (points <= most) return curve;
  PrecisionRecall thin{{}, {}, curve.average_precision, curve.marked_share};
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t at = i * (points - 1) / (most - 1);
    thin.recall.push_back(curve.recall[at]);
    thin.precision.push_back(curve.precision[at]);
  }
  return thin;
}

}  // namespace stoker
