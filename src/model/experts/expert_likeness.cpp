#include "model/experts/expert_likeness.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "device/workers.h"
#include "model/experts/unit_matching.h"
#include "model/network/activate.h"

namespace stoker {
namespace {

using UnitMap = Eigen::Map<const FloatMatrix>;

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

// The signs of all layers, and of each expert what does not depend on whom it is compared with.
class ComparedExperts {
 public:
  ComparedExperts(const ExpertArrays& arrays, std::span<const ExpertPair> pairs) : arrays_(arrays) {
    for (std::size_t i = 0; i + 1 < layers(); ++i) {
      const std::int64_t values = arrays.shape().layer_inputs(i) + 1;
      const std::vector<float> all =
          is_compared_by_sums(values) ? signs_of_sums(values) : std::vector<float>();
      signs_.emplace_back(UnitMap(all.data(), std::ssize(all) / most_compared, most_compared));
    }
    for (const ExpertPair& pair : pairs)
      for (const std::int64_t place : {pair.one, pair.other}) units_.try_emplace(place, layers() - 1);
    std::vector<std::pair<const std::int64_t, std::vector<FloatMatrix>>*> all;
    for (auto& each : units_) all.push_back(&each);
    share_among_cores(std::ssize(all), [&](std::int64_t number) {
      auto& [place, units] = *all[static_cast<std::size_t>(number)];
      for (std::size_t i = 0; i < units.size(); ++i)
        units[i] = comparable(readings(arrays_.layer(place, i), nullptr), i);
    });
  }

  AlignedExperts align(const ExpertPair& pair) const {
    AlignedExperts aligned;
    double product = 0;
    double of_one = 0;
    double of_other = 0;
    for (std::size_t i = 0; i < layers(); ++i) {
      const FloatMatrix reading = readings(arrays_.layer(pair.one, i), nullptr);
      FloatMatrix of_others =
          readings(arrays_.layer(pair.other, i), i == 0 ? nullptr : &aligned.units[i - 1]);
      if (i + 1 < layers()) {
        const FloatMatrix likeness =
            units_.at(pair.one)[i] *
            (i == 0 ? units_.at(pair.other)[i] : comparable(of_others, i)).transpose();
        aligned.units.push_back(
            matched_units({likeness.data(), static_cast<std::size_t>(likeness.size())}, likeness.rows()));
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

 private:
  std::size_t layers() const { return arrays_.shape().layer_count(); }

  FloatMatrix comparable(FloatMatrix units, std::size_t layer) const {
    // Not a number is like nothing.
    units = units.unaryExpr([](float v) { return std::isfinite(v) ? v : 0.0F; });
    if (signs_[layer].rows() > 0) units = units * signs_[layer];
    make_unit_rows(units);
    return units;
  }

  const ExpertArrays& arrays_;
  std::vector<FloatMatrix> signs_;                          // by layer; empty where all values are compared
  std::map<std::int64_t, std::vector<FloatMatrix>> units_;  // by place and layer
};

}  // namespace

std::vector<float> signs_of_sums(std::int64_t values) {
  std::vector<float> signs(static_cast<std::size_t>(values * most_compared));
  const RandomKey key = random_key(0, Purpose::structure, static_cast<std::uint64_t>(values));
  for (std::size_t i = 0; i < signs.size(); ++i)
    signs[i] = (random_bits(key, static_cast<std::uint32_t>(i)) & 1U) != 0 ? 1.0F : -1.0F;
  return signs;
}

std::vector<AlignedExperts> align(const ExpertArrays& arrays, std::span<const ExpertPair> pairs) {
  std::vector<AlignedExperts> all(pairs.size());
  if (pairs.empty()) return all;
  const ComparedExperts compared(arrays, pairs);
  share_among_cores(std::ssize(pairs), [&](std::int64_t i) {
    const auto number = static_cast<std::size_t>(i);
    all[number] = compared.align(pairs[number]);
  });
  return all;
}

}  // namespace stoker
