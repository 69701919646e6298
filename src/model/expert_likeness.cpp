#include "model/expert_likeness.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "model/activate.h"

namespace stoker {
namespace {

using UnitMap = Eigen::Map<const FloatMatrix>;

// Beyond so many values a unit's weights are compared by random sums of them: a pair of experts with 784
// inputs takes a millisecond instead of ten, and the few that are matched wrongly are units that hardly
// differ.
constexpr std::int64_t most_compared = 96;

FloatMatrix random_signs(std::int64_t rows, std::int64_t columns) {
  FloatMatrix signs(rows, columns);
  const RandomKey key = random_key(0, Purpose::structure, static_cast<std::uint64_t>(rows));
  for (std::int64_t i = 0; i < rows * columns; ++i)
    signs.data()[i] = (random_bits(key, static_cast<std::uint32_t>(i)) & 1U) != 0 ? 1.0F : -1.0F;
  return signs;
}

// Each row of length 1, or 0.
void make_unit_rows(FloatMatrix& rows) {
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    const float length = rows.row(i).norm();
    if (length > 0) rows.row(i) /= length;
  }
}

// What a unit reads, with its bias behind, in the order of the units before it.
FloatMatrix readings(const ExpertLayerView& layer, const std::vector<std::int32_t>* order) {
  const UnitMap weight(layer.weight.data(), layer.outputs, layer.inputs);
  FloatMatrix read(layer.outputs, layer.inputs + 1);
  for (Eigen::Index in = 0; in < layer.inputs; ++in)
    read.col(in) = weight.col(order == nullptr ? in : (*order)[static_cast<std::size_t>(in)]);
  for (Eigen::Index out = 0; out < layer.outputs; ++out)
    read(out, layer.inputs) = layer.bias[static_cast<std::size_t>(out)];
  return read;
}

// The pair that is most alike first, then the next one of those that are left.
std::vector<std::int32_t> matched(const FloatMatrix& cosines) {
  const Eigen::Index units = cosines.rows();
  std::vector<std::int32_t> pairs(static_cast<std::size_t>(units * units));
  std::iota(pairs.begin(), pairs.end(), 0);
  std::ranges::sort(pairs, [&](std::int32_t a, std::int32_t b) {
    const float left = cosines.data()[a];
    const float right = cosines.data()[b];
    return left != right ? left > right : a < b;
  });
  std::vector<std::int32_t> of_one(static_cast<std::size_t>(units), -1);
  std::vector<bool> is_taken(static_cast<std::size_t>(units));
  for (const std::int32_t pair : pairs) {
    const auto one = static_cast<std::size_t>(pair / units);
    const auto other = static_cast<std::size_t>(pair % units);
    if (of_one[one] >= 0 || is_taken[other]) continue;
    of_one[one] = static_cast<std::int32_t>(other);
    is_taken[other] = true;
  }
  return of_one;
}

std::vector<std::int32_t> matched_units(FloatMatrix one, FloatMatrix other) {
  // Not a number is like nothing, and must not confuse the order.
  one = one.unaryExpr([](float v) { return std::isfinite(v) ? v : 0.0F; });
  other = other.unaryExpr([](float v) { return std::isfinite(v) ? v : 0.0F; });
  if (one.cols() > 2 * most_compared) {
    const FloatMatrix signs = random_signs(one.cols(), most_compared);
    one = one * signs;
    other = other * signs;
  }
  make_unit_rows(one);
  make_unit_rows(other);
  return matched(one * other.transpose());
}

}  // namespace

AlignedExperts align(const ExpertArrays& arrays, std::int64_t one, std::int64_t other) {
  const std::size_t layers = arrays.shape().layer_count();
  AlignedExperts aligned;
  double product = 0;
  double of_one = 0;
  double of_other = 0;
  for (std::size_t i = 0; i < layers; ++i) {
    const FloatMatrix reading = readings(arrays.layer(one, i), nullptr);
    FloatMatrix of_others = readings(arrays.layer(other, i), i == 0 ? nullptr : &aligned.units[i - 1]);
    if (i + 1 < layers) {
      aligned.units.push_back(matched_units(reading, of_others));
      FloatMatrix ordered(of_others.rows(), of_others.cols());
      for (Eigen::Index unit = 0; unit < ordered.rows(); ++unit)
        ordered.row(unit) = of_others.row(aligned.units.back()[static_cast<std::size_t>(unit)]);
      of_others.swap(ordered);
    }
    product += static_cast<double>(reading.cwiseProduct(of_others).sum());
    of_one += static_cast<double>(reading.squaredNorm());
    of_other += static_cast<double>(of_others.squaredNorm());
  }
  const double lengths = std::sqrt(of_one) * std::sqrt(of_other);
  aligned.cosine = lengths > 0 ? product / lengths : 0;
  return aligned;
}

}  // namespace stoker
