#include "predict/decide/temperature.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "model/decision.h"

namespace stoker {
namespace {

// More tell nothing new of one number.
constexpr std::size_t most_values_to_fit = std::size_t{1} << 22;

// As the log loss has it: no class is quite impossible.
double log_of(double probability) {
  return std::log(std::max(probability, std::numeric_limits<double>::epsilon()));
}

// The logarithms of some rows' probabilities, and what they say of an inverse temperature b. The log loss at
// b is convex in it.
class LogRows {
 public:
  LogRows(std::span<const double> probabilities, std::span<const std::int64_t> actual)
      : width_(actual.empty() ? 1 : probabilities.size() / actual.size()) {
    const std::size_t step = probabilities.size() / most_values_to_fit + 1;
    for (std::size_t row = 0; row < actual.size(); row += step) {
      const std::span<const double> of_row = probabilities.subspan(row * width_, width_);
      if (!std::all_of(of_row.begin(), of_row.end(), [](double p) { return std::isfinite(p); })) continue;
      for (const double each : of_row) logs_.push_back(log_of(each));
      own_.push_back(static_cast<std::size_t>(actual[row]));
    }
  }

  bool empty() const { return own_.empty(); }

  struct Slope {
    double first = 0;
    double second = 0;
  };
  // Derivatives of the summed log loss, and of b - log b, which is smallest at 1: it counts as much as one
  // row that is off by a factor of e.
  Slope slope(double b) const {
    Slope sum{1 - 1 / b, 1 / (b * b)};
    for (std::size_t row = 0; row < own_.size(); ++row) {
      const std::span<const double> logs = std::span(logs_).subspan(row * width_, width_);
      const double largest = *std::max_element(logs.begin(), logs.end());
      double total = 0;
      double mean = 0;
      double square = 0;
      for (const double each : logs) {
        const double weight = std::exp(b * (each - largest));
        total += weight;
        mean += weight * each;
        square += weight * each * each;
      }
      mean /= total;
      sum.first += mean - logs[own_[row]];
      sum.second += square / total - mean * mean;
    }
    return sum;
  }

 private:
  std::size_t width_;
  std::vector<double> logs_;
  std::vector<std::size_t> own_;
};

}  // namespace

void bring_to_temperature(double temperature, std::span<double> probabilities) {
  const double largest = log_of(*std::max_element(probabilities.begin(), probabilities.end()));
  double sum = 0;
  for (double& each : probabilities) {
    each = std::exp((log_of(each) - largest) / temperature);
    sum += each;
  }
  for (double& each : probabilities) each /= sum;
}

// Newton's method between bounds that close in, so that it cannot leave them.
double fit_temperature(std::span<const double> probabilities, std::span<const std::int64_t> actual) {
  const LogRows rows(probabilities, actual);
  if (rows.empty()) return 1;
  double low = 1 / highest_temperature;
  double high = 1 / lowest_temperature;
  if (rows.slope(low).first >= 0) return highest_temperature;
  if (rows.slope(high).first <= 0) return lowest_temperature;
  constexpr int most_tries = 100;
  constexpr double close = 1e-10;
  double b = 1;
  for (int i = 0; i < most_tries && high - low > close * low; ++i) {
    const LogRows::Slope slope = rows.slope(b);
    (slope.first > 0 ? high : low) = b;
    const double next = b - slope.first / slope.second;
    if (std::abs(next - b) <= close * b) break;
    b = next > low && next < high ? next : std::sqrt(low * high);
  }
  return std::clamp(1 / b, lowest_temperature, highest_temperature);
}

}  // namespace stoker
