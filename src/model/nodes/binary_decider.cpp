#include "model/network/sigmoid.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct BinarySettings {
  double threshold = 0.5;
};

config::Fields fields(BinarySettings& s) {
  return {
      config::field("threshold", s.threshold, "Probability from which on a pixel is marked").within(0, 1)};
}

class BinaryDecider final : public NodeWith<BinarySettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("logits", "To decide on")}; }
  Ports outputs(const Ports& connected) const override {
    return {{"decisions", DType::uint8, connected[0].shape, "1 where sigmoid(logit) reaches the threshold"}};
  }
  Values forward(const Pass& pass) const override {
    const Array& logits = value_at(pass.inputs, "logits");
    Array decisions = with_channels(logits, channels_in(logits), DType::uint8);
    const auto from = logits.as<float>();
    const auto to = decisions.as<std::uint8_t>();
    for (std::size_t i = 0; i < from.size(); ++i)
      to[i] = sigmoid(static_cast<double>(from[i])) >= settings_.threshold ? 1 : 0;
    return {{"decisions", decisions}};
  }
};

}  // namespace

NodeType binary_decider() {
  return type_of<BinaryDecider>("BinaryDecider", NodeKind::decider,
                                "Marks pixels whose probability reaches a threshold");
}

}  // namespace stoker::nodes
