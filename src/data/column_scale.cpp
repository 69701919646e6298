#include "data/column_scale.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/target_column.h"

namespace stoker {
namespace {

constexpr std::size_t most_quantiles = 1000;
constexpr double clip_at = 3;          // what a value far out comes near to, in deviations
constexpr double least_share = 0.001;  // ranks beyond are as good as this one: about 3.1 deviations

// Rational approximation by Peter Acklam, good to nine digits; shares from least_share on.
double normal_quantile(double share) {
  constexpr double a[]{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                       1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[]{-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                       6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double c[]{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                       -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[]{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                       3.754408661907416e+00};
  constexpr double tail = 0.02425;
  if (share < tail || share > 1 - tail) {
    const double q = std::sqrt(-2 * std::log(std::min(share, 1 - share)));
    const double size = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
                        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    return share < tail ? size : -size;
  }
  const double q = share - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

// The share of the training rows below a number; of a number that many rows have, the middle of them.
double rank_share(const std::vector<double>& quantiles, double number) {
  const auto [first, last] = std::equal_range(quantiles.begin(), quantiles.end(), number);
  const auto steps = static_cast<double>(quantiles.size() - 1);
  if (first != last) {
    // The ends belong to all that is beyond as well.
    return (static_cast<double>(first - quantiles.begin()) +
            static_cast<double>(last - quantiles.begin() - 1)) /
           2 / steps;
  }
  if (first == quantiles.begin()) return 0;
  if (first == quantiles.end()) return 1;
  const double below = *(first - 1);
  return (static_cast<double>(first - quantiles.begin() - 1) + (number - below) / (*first - below)) / steps;
}

std::vector<double> quantiles_of(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  if (numbers.size() <= most_quantiles) return numbers;
  std::vector<double> quantiles;
  for (std::size_t i = 0; i < most_quantiles; ++i)
    quantiles.push_back(numbers[i * (numbers.size() - 1) / (most_quantiles - 1)]);
  return quantiles;
}

// Median and quartiles; where half of the rows are alike, minimum and maximum.
void learn_robust_scale(ColumnScale& column, std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const auto at = [&](double share) {
    return numbers[static_cast<std::size_t>(share * static_cast<double>(numbers.size() - 1))];
  };
  column.shift = at(0.5);
  // As large as a deviation where rows are distributed normally.
  column.scale = (at(0.75) - at(0.25)) / 1.349;
  if (!(column.scale > 0)) column.scale = (numbers.back() - numbers.front()) / 2;
  if (!(column.scale > 0)) column.scale = 1;
  column.curve = ColumnScale::Curve::clipped;
}

}  // namespace

void learn_scale(ColumnScale& column, const std::vector<double>& numbers, Scaling scaling) {
  const auto is_first = [&](double number) { return number == numbers.front(); };
  if (scaling != Scaling::none && !numbers.empty() && std::ranges::all_of(numbers, is_first)) {
    column.shift = numbers.front();
    column.curve = ColumnScale::Curve::constant;
  } else if (scaling == Scaling::minmax) {
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    column.shift = *low;
    column.scale = *high - *low;
  } else if (scaling == Scaling::standard) {
    const MeanAndScale found = mean_and_scale(numbers);
    column.shift = found.mean;
    column.scale = found.scale;
  } else if (scaling == Scaling::robust) {
    learn_robust_scale(column, numbers);
  } else if (scaling == Scaling::quantile) {
    column.quantiles = quantiles_of(numbers);
    column.curve = ColumnScale::Curve::quantile;
  }
}

void learn_scale(PreparedColumn& column, const std::vector<double>& numbers, Scaling scaling) {
  learn_scale(static_cast<ColumnScale&>(column), numbers, scaling);
  if (!std::isfinite(column.shift) || !std::isfinite(column.scale))
    refuse("column '{}' has values too large to scale", column.name);
}

double scaled(const ColumnScale& column, double number) {
  if (!std::isfinite(number)) return number;
  if (column.curve == ColumnScale::Curve::quantile)
    return normal_quantile(std::clamp(rank_share(column.quantiles, number), least_share, 1 - least_share));
  if (column.curve == ColumnScale::Curve::constant) return 0;
  const double straight = (number - column.shift) / column.scale;
  if (column.curve == ColumnScale::Curve::straight) return straight;
  const double ratio = straight / clip_at;
  return straight / std::sqrt(1 + ratio * ratio);
}

}  // namespace stoker
