#include "data/prepare/column_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "data/prepare/ranked_numbers.h"
#include "data/target/target_column.h"

namespace stoker {
namespace {

constexpr std::size_t most_quantiles = 1000;
constexpr double clip_at = 3;          // what a value far out comes near to, in deviations
constexpr double least_share = 0.001;  // ranks beyond are as good as this one: about 3.1 deviations

constexpr double tail = 0.02425;  // shares below, and as near to 1, have a formula of their own

// Rational approximation by Peter Acklam, good to nine digits; shares from least_share on.
double central_quantile(double share) {
  constexpr double a[]{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                       1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[]{-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                       6.680131188771972e+01, -1.328068155288572e+01};
  const double q = share - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

double outer_quantile(double share) {
  constexpr double c[]{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                       -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[]{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                       3.754408661907416e+00};
  const double q = std::sqrt(-2 * std::log(std::min(share, 1 - share)));
  const double size = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
                      ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  return share < tail ? size : -size;
}

bool is_in_tail(double share) {
  return share < tail || share > 1 - tail;
}

double normal_quantile(double share) {
  return is_in_tail(share) ? outer_quantile(share) : central_quantile(share);
}

// The share of the training rows below a number that is the quantile at `first` and those behind it.
double share_of_run(std::span<const double> quantiles, std::size_t first) {
  std::size_t last = first;
  while (last + 1 < quantiles.size() && quantiles[last + 1] == quantiles[first]) ++last;
  // The middle of them. The ends belong to all that is beyond as well.
  return (static_cast<double>(first) + static_cast<double>(last)) / 2 /
         static_cast<double>(quantiles.size() - 1);
}

// The same of one that lies between the quantiles, or beyond, before the one at `above`.
double share_between(std::span<const double> quantiles, std::size_t above, double number) {
  if (above == 0) return 0;
  if (above == quantiles.size()) return 1;
  const double below = quantiles[above - 1];
  return (static_cast<double>(above - 1) + (number - below) / (quantiles[above] - below)) /
         static_cast<double>(quantiles.size() - 1);
}

double rank_share(const std::vector<double>& quantiles, double number) {
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(quantiles, number) - quantiles.begin());
  return at < quantiles.size() && quantiles[at] == number ? share_of_run(quantiles, at)
                                                          : share_between(quantiles, at, number);
}

std::vector<double> quantiles_of(const std::vector<double>& numbers) {
  const std::size_t count = std::min(numbers.size(), most_quantiles);
  std::vector<std::size_t> places(count);
  for (std::size_t i = 0; i < count; ++i)
    places[i] = numbers.size() <= most_quantiles ? i : i * (numbers.size() - 1) / (most_quantiles - 1);
  return numbers_at(numbers, places);
}

// Median and quartiles; where half of the rows are alike, minimum and maximum.
void learn_robust_scale(ColumnScale& column, const std::vector<double>& numbers) {
  const auto place = [&](double share) {
    return static_cast<std::size_t>(share * static_cast<double>(numbers.size() - 1));
  };
  const std::vector<double> quarters = numbers_at(numbers, std::array{place(0.25), place(0.5), place(0.75)});
  column.shift = quarters[1];
  // As large as a deviation where rows are distributed normally.
  column.scale = (quarters[2] - quarters[0]) / 1.349;
  if (!(column.scale > 0)) {
    const auto [low, high] = std::ranges::minmax_element(numbers);
    column.scale = (*high - *low) / 2;
  }
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

void learn_range(ColumnScale& column, const std::vector<double>& numbers) {
  if (!column.quantiles.empty() || numbers.empty()) return;
  const auto [low, high] = std::ranges::minmax_element(numbers);
  column.quantiles = {*low, *high};
}

std::optional<NumberRange> range_of(const PreparedColumn& column) {
  if (column.kind != PreparedColumn::Kind::number || column.quantiles.empty()) return std::nullopt;
  const double low = column.quantiles.front();
  const double high = column.quantiles.back();
  if (column.part == DatePart::none) return NumberRange{low, high, !column.date_form.empty()};
  if (column.part != DatePart::days) return std::nullopt;
  constexpr double seconds_of_day = 86'400;
  return NumberRange{low * seconds_of_day, high * seconds_of_day, true};
}

namespace {

double clipped(const ColumnScale& column, double number) {
  const double straight = (number - column.shift) / column.scale;
  const double ratio = straight / clip_at;
  return straight / std::sqrt(1 + ratio * ratio);
}

double within_ranks(double share) {
  return std::clamp(share, least_share, 1 - least_share);
}

}  // namespace

double scaled(const ColumnScale& column, double number) {
  if (!std::isfinite(number)) return number;
  switch (column.curve) {
    case ColumnScale::Curve::quantile:
      return normal_quantile(within_ranks(rank_share(column.quantiles, number)));
    case ColumnScale::Curve::constant:
      return 0;
    case ColumnScale::Curve::clipped:
      return clipped(column, number);
    case ColumnScale::Curve::straight:
      break;
  }
  return (number - column.shift) / column.scale;
}

ScaledBlocks::ScaledBlocks(const ColumnScale& column) : column_(&column) {
  const std::vector<double>& quantiles = column.quantiles;
  if (column.curve != ColumnScale::Curve::quantile || quantiles.empty()) return;
  const double cells_a_unit = cells / (quantiles.back() - quantiles.front());
  // Of numbers too far apart, or too near to each other, all lie in one cell.
  if (std::isfinite(cells_a_unit) && cells_a_unit > 0) cells_a_unit_ = cells_a_unit;
  first_of_cell_.assign(cells + 2, static_cast<std::uint32_t>(quantiles.size()));
  shares_.resize(quantiles.size());
  padded_ = quantiles;
  padded_.insert(padded_.end(), 4, std::numeric_limits<double>::infinity());
  std::size_t cell = 0;
  for (std::size_t i = 0; i < quantiles.size(); ++i) {
    const std::size_t own = cell_of(quantiles[i]);
    for (; cell <= own; ++cell) first_of_cell_[cell] = static_cast<std::uint32_t>(i);
    const bool is_first = i == 0 || quantiles[i - 1] != quantiles[i];
    shares_[i] = is_first ? share_of_run(quantiles, i) : shares_[i - 1];
  }
}

// Never less for a larger number, so that a number's place is among the quantiles of its cell. Inline, as is
// what calls it: a function of a shared library is else called by way of a table.
inline std::size_t ScaledBlocks::cell_of(double number) const {
  if (cells_a_unit_ == 0) return 0;
  const double cell = (number - padded_.front()) * cells_a_unit_;
  return static_cast<std::size_t>(std::clamp(cell, 0.0, static_cast<double>(cells)));
}

inline double ScaledBlocks::share_of(double number) const {
  const std::size_t cell = cell_of(number);
  std::size_t at = first_of_cell_[cell];
  if (first_of_cell_[cell + 1] - at <= 4) {
    // Those behind the cell are greater, so no branch needs to know how many are in it.
    const double* next = padded_.data() + at;
    at += static_cast<std::size_t>(next[0] < number) + static_cast<std::size_t>(next[1] < number) +
          static_cast<std::size_t>(next[2] < number) + static_cast<std::size_t>(next[3] < number);
  } else {
    const auto* const begin = padded_.data();
    at = static_cast<std::size_t>(std::lower_bound(begin + at, begin + first_of_cell_[cell + 1], number) -
                                  begin);
  }
  return padded_[at] == number ? shares_[at] : share_between({padded_.data(), shares_.size()}, at, number);
}

void ScaledBlocks::scale_by_rank(std::span<double> numbers) const {
  std::array<double, most_numbers> shares;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    shares[i] = std::isfinite(numbers[i]) ? within_ranks(share_of(numbers[i])) : numbers[i];
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = central_quantile(shares[i]);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(shares[i])) {
      numbers[i] = shares[i];
    } else if (is_in_tail(shares[i])) {
      numbers[i] = outer_quantile(shares[i]);
    }
  }
}

void ScaledBlocks::scale(std::span<double> numbers) const {
  if (!shares_.empty()) {
    for (; !numbers.empty(); numbers = numbers.subspan(std::min(numbers.size(), most_numbers)))
      scale_by_rank(numbers.first(std::min(numbers.size(), most_numbers)));
  } else {
    for (double& number : numbers) number = scaled(*column_, number);
  }
}

}  // namespace stoker
