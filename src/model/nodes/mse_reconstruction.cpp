#include "base/error.h"
#include "model/nodes/loss_node.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {
namespace {

struct ReconstructionSettings {
  double weight = 1;
  Reduction reduction = Reduction::mean;
};

config::Fields fields(ReconstructionSettings& s) {
  return {weight_field(s.weight), config::field("reduction", s.reduction, "Over all numbers")};
}

class MseReconstruction final : public LossNode<ReconstructionSettings> {
 public:
  using LossNode::LossNode;

  Ports inputs() const override {
    return {cube_port("reconstruction", "What was made"), cube_port("target", "What it should be")};
  }
  Ports outputs(const Ports& connected) const override {
    for (std::size_t i = 0; i < 4; ++i)
      if (connected[0].shape[i] >= 0 && connected[1].shape[i] >= 0 &&
          connected[0].shape[i] != connected[1].shape[i])
        refuse("a reconstruction of {} cannot be compared with a target of {}",
               describe(connected[0].type, connected[0].shape),
               describe(connected[1].type, connected[1].shape));
    return LossNode::outputs(connected);
  }
  Values forward(const Pass& pass) const override {
    const auto [made, target] = compared(pass.inputs);
    const double squares =
        sum_over_parts(std::ssize(made), 0.0, [&](std::int64_t first, std::int64_t count, double& sum) {
          for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(first + count); ++i) {
            const double apart = static_cast<double>(made[i]) - static_cast<double>(target[i]);
            sum += apart * apart;
          }
        });
    return loss(settings_.weight * squares / divisor(pass.inputs));
  }
  Gradients backward(const PassBack& pass) const override {
    const auto [made, target] = compared(pass.inputs);
    const double factor = 2 * settings_.weight * change(pass) / divisor(pass.inputs);
    Array of_made(DType::float32, value_at(pass.inputs, "reconstruction").shape());
    Array of_target(DType::float32, of_made.shape());
    for (std::size_t i = 0; i < made.size(); ++i) {
      const double apart = static_cast<double>(made[i]) - static_cast<double>(target[i]);
      of_made.as<float>()[i] = static_cast<float>(factor * apart);
      of_target.as<float>()[i] = -of_made.as<float>()[i];
    }
    return {{{"reconstruction", of_made}, {"target", of_target}}, {}};
  }

 private:
  static std::pair<std::span<const float>, std::span<const float>> compared(const Values& inputs) {
    const Array& made = value_at(inputs, "reconstruction");
    const Array& target = value_at(inputs, "target");
    if (made.shape() != target.shape())
      refuse("a reconstruction of {} cannot be compared with a target of {}",
             describe(made.type(), made.shape()), describe(target.type(), target.shape()));
    return {made.as<float>(), target.as<float>()};
  }
  double divisor(const Values& inputs) const {
    return settings_.reduction == Reduction::mean ? static_cast<double>(value_at(inputs, "target").size())
                                                  : 1;
  }
};

}  // namespace

NodeType mse_reconstruction() {
  return type_of<MseReconstruction>("MSEReconstructionLoss", NodeKind::loss,
                                    "Squared distance between a reconstruction and its target");
}

}  // namespace stoker::nodes
