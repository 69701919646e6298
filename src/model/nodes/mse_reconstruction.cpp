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
    return loss(settings_.weight * apart(pass.inputs).squaredNorm() / divisor(pass.inputs));
  }
  Gradients backward(const PassBack& pass) const override {
    const Shape& shape = value_at(pass.inputs, "reconstruction").shape();
    const PixelMatrix gradient =
        (2 * settings_.weight * change(pass) / divisor(pass.inputs) * apart(pass.inputs)).cast<float>();
    return {{{"reconstruction", from_matrix_of_floats(gradient, shape)},
             {"target", from_matrix_of_floats(-gradient, shape)}},
            {}};
  }

 private:
  static Eigen::MatrixXd apart(const Values& inputs) {
    const Array& made = value_at(inputs, "reconstruction");
    const Array& target = value_at(inputs, "target");
    if (made.shape() != target.shape())
      refuse("a reconstruction of {} cannot be compared with a target of {}",
             describe(made.type(), made.shape()), describe(target.type(), target.shape()));
    return pixels_of(made).cast<double>() - pixels_of(target).cast<double>();
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
