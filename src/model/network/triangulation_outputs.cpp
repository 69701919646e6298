#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/workers.h"
#include "model/network/activate.h"
#include "model/network/layer_specs.h"
#include "model/network/triangulation.h"

namespace stoker {
namespace {

using SetRows = FloatMatrix;
using SetRow = Eigen::RowVectorXf;

struct SetLinear {
  Eigen::Map<const SetRows> weight;  // [outputs, inputs]
  Eigen::Map<const SetRow> bias;

  SetRows operator()(const SetRows& in) const {
    SetRows out;
    out.noalias() = in * weight.transpose();
    out.rowwise() += bias;
    return out;
  }
};

Eigen::Map<const SetRow> vector_named(const NamedArrays& parameters, const std::string& name,
                                      std::int64_t size) {
  const Array& array = find_array(parameters, name);
  if (array.type() != DType::float32 || array.shape() != Shape{size})
    fail("the parameter {} does not have the shape of the network", name);
  return {array.as<float>().data(), size};
}

SetLinear linear_named(const NamedArrays& parameters, const std::string& weight, const std::string& bias,
                       std::int64_t inputs, std::int64_t outputs) {
  const Array& array = find_array(parameters, weight);
  if (array.type() != DType::float32 || array.shape() != Shape{outputs, inputs})
    fail("the parameter {} does not have the shape of the network", weight);
  return {{array.as<float>().data(), outputs, inputs}, vector_named(parameters, bias, outputs)};
}

// The sets of a block of rows. Members that are present lie one behind the other; of a set that has none, all
// do.
struct SetBlock {
  SetRows members;
  std::vector<Eigen::Index> firsts{0};  // the first member of each set, and where the last one ends
  std::vector<float> present;           // the share of the members that are
};

SetBlock block_of(const SetShape& shape, const float* features, const float* mask, std::int64_t sets) {
  SetBlock block;
  block.members.resize(sets * shape.members, shape.columns);
  Eigen::Index next = 0;
  for (std::int64_t set = 0; set < sets; ++set, mask += shape.members) {
    const auto count = std::count_if(mask, mask + shape.members, [](float each) { return each != 0; });
    for (std::int64_t member = 0; member < shape.members; ++member, features += shape.columns) {
      if (mask[member] == 0 && count > 0) continue;
      std::copy_n(features, shape.columns, block.members.row(next++).data());
    }
    block.firsts.push_back(next);
    block.present.push_back(static_cast<float>(count) / static_cast<float>(shape.members));
  }
  block.members.conservativeResize(next, Eigen::NoChange);
  return block;
}

class SetOutputs {
 public:
  SetOutputs(const TriangulationShape& shape, const NamedArrays& parameters)
      : heads_(shape.settings.attention_heads),
        width_(shape.settings.width),
        inner_(linear(parameters, "receiver.inner", shape.set.columns, shape.settings.receiver_width)),
        outer_(linear(parameters, "receiver.outer", shape.settings.receiver_width, width_)),
        projections_(linear_named(parameters, "attention.in_proj_weight", "attention.in_proj_bias", width_,
                                  3 * width_)),
        attended_(linear(parameters, "attention.out_proj", width_, width_)),
        norm_weight_(vector_named(parameters, "norm.weight", width_)),
        norm_bias_(vector_named(parameters, "norm.bias", width_)),
        head_inner_(linear(parameters, "head.inner", 4 * width_, shape.settings.head_width)),
        head_outer_(linear(parameters, "head.outer", shape.settings.head_width, shape.outputs)) {}

  SetRows operator()(const SetBlock& block) const {
    const SetRows receivers = outer_(inner_(block.members).cwiseMax(0)).cwiseMax(0);
    const SetRows projected = projections_(receivers);
    SetRows context(receivers.rows(), width_);
    for (std::size_t set = 0; set < block.present.size(); ++set)
      attend(projected, block.firsts[set], block.firsts[set + 1] - block.firsts[set], context);
    SetRows known = receivers + attended_(context);
    norm(known);
    SetRows pooled(static_cast<Eigen::Index>(block.present.size()), 4 * width_);
    for (std::size_t set = 0; set < block.present.size(); ++set) pool(known, block, set, pooled);
    return head_outer_(head_inner_(pooled).cwiseMax(0));
  }

 private:
  static SetLinear linear(const NamedArrays& parameters, const std::string& name, std::int64_t inputs,
                          std::int64_t outputs) {
    return linear_named(parameters, name + ".weight", name + ".bias", inputs, outputs);
  }

  void attend(const SetRows& projected, Eigen::Index first, Eigen::Index count, SetRows& context) const {
    const Eigen::Index share = width_ / heads_;
    const float scale = 1.0F / std::sqrt(static_cast<float>(share));
    for (Eigen::Index head = 0; head < heads_; ++head) {
      const auto part = [&](Eigen::Index number) {
        return projected.block(first, number * width_ + head * share, count, share);
      };
      SetRows shares = part(0) * part(1).transpose() * scale;
      shares = (shares.colwise() - shares.rowwise().maxCoeff()).array().exp().matrix();
      shares = (shares.array().colwise() / shares.rowwise().sum().array()).matrix();
      context.block(first, head * share, count, share).noalias() = shares * part(2);
    }
  }

  void norm(SetRows& known) const {
    for (Eigen::Index row = 0; row < known.rows(); ++row) {
      auto values = known.row(row);
      const SetRow from_mean = values.array() - values.mean();
      const float variance = from_mean.squaredNorm() / static_cast<float>(width_);
      const float scale = 1.0F / std::sqrt(variance + static_cast<float>(norm_epsilon));
      values = (from_mean.array() * scale * norm_weight_.array() + norm_bias_.array()).matrix();
    }
  }

  void pool(const SetRows& known, const SetBlock& block, std::size_t set, SetRows& pooled) const {
    const auto values = known.middleRows(block.firsts[set], block.firsts[set + 1] - block.firsts[set]);
    auto out = pooled.row(static_cast<Eigen::Index>(set));
    const bool is_empty = block.present[set] == 0;
    const SetRow mean = is_empty ? SetRow(SetRow::Zero(width_)) : SetRow(values.colwise().mean());
    SetRow variance = SetRow::Zero(width_);
    if (!is_empty)
      variance = (values.rowwise() - mean).array().square().colwise().sum().matrix() /
                 static_cast<float>(values.rows());
    const float distance = is_empty ? static_cast<float>(far_below) : 0.0F;
    out.segment(0, width_) = mean;
    out.segment(width_, width_) = (values.colwise().maxCoeff().array() + distance).matrix();
    out.segment(2 * width_, width_) =
        (variance.array() + static_cast<float>(least_set_variance)).sqrt().matrix();
    out.segment(3 * width_, width_).setConstant(block.present[set]);
  }

  Eigen::Index heads_;
  Eigen::Index width_;
  SetLinear inner_;
  SetLinear outer_;
  SetLinear projections_;
  SetLinear attended_;
  Eigen::Map<const SetRow> norm_weight_;
  Eigen::Map<const SetRow> norm_bias_;
  SetLinear head_inner_;
  SetLinear head_outer_;
};

// A part of rows_of_block whose values stay in a cache.
std::int64_t sets_at_a_time(const TriangulationShape& shape) {
  constexpr std::int64_t most_values = 1 << 20;
  const TriangulationSettings& s = shape.settings;
  const std::int64_t of_member = std::max(s.receiver_width, 4 * s.width);
  std::int64_t sets = rows_of_block;
  while (sets > 1 && sets * shape.set.members > most_values / of_member) sets /= 2;
  return sets;
}

}  // namespace

Array triangulation_outputs(const TriangulationShape& shape, const Network& network,
                            const NamedArrays& parameters, const Dataset& data, std::int64_t first,
                            std::int64_t count) {
  if (first < 0 || count < 0 || count > data.rows() - first)
    fail("a network was asked for rows {} to {} of {}", first, first + count, data.rows());
  const SetOutputs outputs_of(shape, parameters);
  const auto values = [&](std::size_t input) {
    const ArraySpec& wanted = network.inputs[input];
    const DatasetArray* found = data.find(wanted.name);
    if (found == nullptr || found->array.type() != wanted.type || found->row_shape() != wanted.shape)
      fail("a network was given no {} as it reads them", wanted.name);
    return found->array.as<float>().data();
  };
  const float* features = values(0);
  const float* mask = values(1);
  Array outputs(DType::float32, {count, shape.outputs});
  Eigen::Map<SetRows> all(outputs.as<float>().data(), count, shape.outputs);
  const std::int64_t at_a_time = sets_at_a_time(shape);
  share_among_cores((count + at_a_time - 1) / at_a_time, [&](std::int64_t block) {
    const std::int64_t begin = block * at_a_time;
    const std::int64_t sets = std::min(at_a_time, count - begin);
    const std::int64_t members = (first + begin) * shape.set.members;
    all.middleRows(begin, sets) =
        outputs_of(block_of(shape.set, features + members * shape.set.columns, mask + members, sets));
  });
  return outputs;
}

}  // namespace stoker
