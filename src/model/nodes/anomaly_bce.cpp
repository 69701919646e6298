#include "model/nodes/anomaly_bce.h"

#include "model/network/sigmoid.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {
namespace {

class AnomalyBce final : public LossNode<BceSettings> {
 public:
  using LossNode::LossNode;

  Ports inputs() const override {
    return {cube_port("predictions", "Logits", 1), mask_port("targets", "Marked pixels")};
  }
  Values forward(const Pass& pass) const override {
    double sum = 0;
    each(pass.inputs, [&](std::size_t, double logit, bool marked) {
      sum += marked ? positive() * (softplus(logit) - logit) : softplus(logit);
    });
    return loss(settings_.weight * sum / divisor(pass.inputs));
  }
  Gradients backward(const PassBack& pass) const override {
    Array gradient = with_channels(value_at(pass.inputs, "predictions"), 1);
    const auto to = gradient.as<float>();
    const double factor = settings_.weight * change(pass) / divisor(pass.inputs);
    each(pass.inputs, [&](std::size_t i, double logit, bool marked) {
      const double share = sigmoid(logit);
      to[i] = static_cast<float>(factor * (marked ? positive() * (share - 1) : share));
    });
    return {{{"predictions", gradient}}, {}};
  }

 private:
  double positive() const { return settings_.pos_weight.value_or(1.0); }
  double divisor(const Values& inputs) const {
    const auto pixels = static_cast<double>(value_at(inputs, "predictions").size());
    return settings_.reduction == Reduction::mean ? std::max(1.0, pixels) : 1;
  }
  template <class Use>
  static void each(const Values& inputs, const Use& use) {
    const auto logits = value_at(inputs, "predictions").as<float>();
    const auto targets = value_at(inputs, "targets").as<std::uint8_t>();
    for (std::size_t i = 0; i < logits.size(); ++i) use(i, static_cast<double>(logits[i]), targets[i] != 0);
  }
};

}  // namespace

NodeType anomaly_bce() {
  return type_of<AnomalyBce>("AnomalyBCEWithLogits", NodeKind::loss,
                             "Cross-entropy of logits with the marked pixels");
}

}  // namespace stoker::nodes
