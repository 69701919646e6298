#include "predict/decide/threshold.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "base/error.h"
#include "model/decision.h"

namespace stoker {
namespace {

// Rows of two classes in the order of their probabilities: the first so many are taken for the first class,
// the others for the second.
class CutRows {
 public:
  CutRows(std::span<const double> of_second, std::span<const std::int64_t> actual)
      : of_second_(of_second), order_(of_second.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return of_second_[a] < of_second_[b]; });
    rows_.actual = actual;
    rows_.counts = {{0, 0}, {0, 0}, {0, 0}};
    for (const std::int64_t each : actual) ++rows_.counts.actual[static_cast<std::size_t>(each)];
    rows_.counts.predicted[1] = static_cast<std::int64_t>(actual.size());
    rows_.counts.right[1] = rows_.counts.actual[1];
  }

  std::size_t size() const { return order_.size(); }
  double probability(std::size_t place) const { return of_second_[order_[place]]; }
  const ClassRows& rows() const { return rows_; }

  // Takes the row at this place for the first class, too; one after the other.
  void take_for_first(std::size_t place) {
    ++rows_.counts.predicted[0];
    --rows_.counts.predicted[1];
    if (rows_.actual[order_[place]] == 0) {
      ++rows_.counts.right[0];
    } else {
      --rows_.counts.right[1];
    }
  }

 private:
  std::span<const double> of_second_;
  std::vector<std::size_t> order_;
  ClassRows rows_;
};

bool is_inside(double threshold) {
  return threshold > 0 && threshold < 1;
}

}  // namespace

double choose_threshold(std::span<const double> of_second, std::span<const std::int64_t> actual,
                        const Metric& metric) {
  if (metric.needs != MetricNeeds::classes) fail("{} does not depend on predicted classes", metric.name);
  const double middle = Decision{}.threshold;
  double best = middle;
  std::optional<double> best_value;
  CutRows cut(of_second, actual);
  const auto consider = [&](double below, double above) {
    const double threshold = below < middle && middle < above ? middle : (below + above) / 2;
    const double value = metric.compute({{}, {}, &cut.rows()});
    if (!is_inside(threshold) || threshold >= above || std::isnan(value)) return;
    const double gain =
        best_value ? (metric.higher_is_better ? value - *best_value : *best_value - value) : 1;
    const bool nearer = std::abs(threshold - middle) < std::abs(best - middle);
    if (best_value && (gain < 0 || (gain == 0 && !nearer))) return;
    best = threshold;
    best_value = value;
  };
  if (cut.size() > 0) consider(0, cut.probability(0));
  for (std::size_t place = 0; place < cut.size(); ++place) {
    cut.take_for_first(place);
    const double here = cut.probability(place);
    const double next = place + 1 < cut.size() ? cut.probability(place + 1) : 1;
    if (here < next) consider(here, next);
  }
  return best;
}

}  // namespace stoker
