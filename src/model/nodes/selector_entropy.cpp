#include <cmath>

#include "config/usual_bounds.h"
#include "model/nodes/loss_node.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {
namespace {

struct EntropySettings {
  double weight = 0.01;
  std::optional<double> target_entropy;
  double eps = 1e-6;
};

config::Fields fields(EntropySettings& s) {
  return {weight_field(s.weight),
          config::field("target_entropy", s.target_entropy,
                        "Entropy to come near to; not set: the higher the better")
              .optional(),
          config::field("eps", s.eps, "Added to the sum of the weights and within the logarithm")
              .above(0)
              .within(0, config::largest_eps)};
}

class SelectorEntropy final : public LossNode<EntropySettings> {
 public:
  using LossNode::LossNode;

  Ports inputs() const override { return {{"weights", DType::float32, {-1}, "Of the channels"}}; }
  Values forward(const Pass& pass) const override {
    const double entropy = entropy_of(shares_of(pass.inputs));
    const double apart = entropy - settings_.target_entropy.value_or(0);
    return loss(settings_.weight * (settings_.target_entropy ? apart * apart : -entropy));
  }
  Gradients backward(const PassBack& pass) const override {
    const Eigen::ArrayXd shares = shares_of(pass.inputs);
    const double of_entropy =
        settings_.weight * change(pass) *
        (settings_.target_entropy ? 2 * (entropy_of(shares) - *settings_.target_entropy) : -1);
    const Eigen::ArrayXd of_shares =
        -of_entropy * ((shares + settings_.eps).log() + shares / (shares + settings_.eps));
    const Array& weights = value_at(pass.inputs, "weights");
    const double sum = pixels_of(weights).cast<double>().sum() + settings_.eps;
    const double mean = (of_shares * shares).sum();
    const Eigen::ArrayXd gradient = (of_shares - mean) / sum;
    return {
        {{"weights", numbers(weights.shape(), {gradient.data(), static_cast<std::size_t>(gradient.size())})}},
        {}};
  }

 private:
  Eigen::ArrayXd shares_of(const Values& inputs) const {
    const Eigen::ArrayXd weights =
        pixels_of(value_at(inputs, "weights")).row(0).transpose().cast<double>().array();
    return weights / (weights.sum() + settings_.eps);
  }
  double entropy_of(const Eigen::ArrayXd& shares) const {
    return -(shares * (shares + settings_.eps).log()).sum();
  }
};

}  // namespace

NodeType selector_entropy() {
  return type_of<SelectorEntropy>(
      "SelectorEntropyRegularizer", NodeKind::loss,
      "Minus the entropy of a selector's weights, or its squared distance from a target");
}

}  // namespace stoker::nodes
