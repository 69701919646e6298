#include "model/nodes/loss_node.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {
namespace {

struct DiversitySettings {
  double weight = 0.01;
};

config::Fields fields(DiversitySettings& s) {
  return {weight_field(s.weight)};
}

class SelectorDiversity final : public LossNode<DiversitySettings> {
 public:
  using LossNode::LossNode;

  Ports inputs() const override { return {{"weights", DType::float32, {-1}, "Of the channels"}}; }
  Values forward(const Pass& pass) const override {
    return loss(-settings_.weight * apart(pass.inputs).square().mean());
  }
  Gradients backward(const PassBack& pass) const override {
    const Array& weights = value_at(pass.inputs, "weights");
    const Eigen::ArrayXd gradient =
        -2 * settings_.weight * change(pass) / static_cast<double>(weights.size()) * apart(pass.inputs);
    return {
        {{"weights", numbers(weights.shape(), {gradient.data(), static_cast<std::size_t>(gradient.size())})}},
        {}};
  }

 private:
  static Eigen::ArrayXd apart(const Values& inputs) {
    const Eigen::ArrayXd weights =
        pixels_of(value_at(inputs, "weights")).row(0).transpose().cast<double>().array();
    return weights - weights.mean();
  }
};

}  // namespace

NodeType selector_diversity() {
  return type_of<SelectorDiversity>("SelectorDiversityRegularizer", NodeKind::loss,
                                    "Minus the variance of a selector's weights");
}

}  // namespace stoker::nodes
