#include "model/nodes/loss_node.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {
namespace {

struct OrthogonalitySettings {
  double weight = 1;
};

config::Fields fields(OrthogonalitySettings& s) {
  return {weight_field(s.weight)};
}

class OrthogonalityLoss final : public LossNode<OrthogonalitySettings> {
 public:
  using LossNode::LossNode;

  Ports inputs() const override { return {{"components", DType::float32, {-1, -1}, "Axes, one a row"}}; }
  Values forward(const Pass& pass) const override {
    return loss(settings_.weight *
                apart(pixels_of(value_at(pass.inputs, "components")).cast<double>()).squaredNorm());
  }
  Gradients backward(const PassBack& pass) const override {
    const Array& components = value_at(pass.inputs, "components");
    const Eigen::MatrixXd axes = pixels_of(components).cast<double>();
    const PixelMatrix gradient = (4 * settings_.weight * change(pass) * apart(axes) * axes).cast<float>();
    return {{{"components", from_matrix_of_floats(gradient, components.shape())}}, {}};
  }

 private:
  static Eigen::MatrixXd apart(const Eigen::MatrixXd& axes) {
    return axes * axes.transpose() - Eigen::MatrixXd::Identity(axes.rows(), axes.rows());
  }
};

}  // namespace

NodeType orthogonality_loss() {
  return type_of<OrthogonalityLoss>("OrthogonalityLoss", NodeKind::loss,
                                    "How far axes are from being orthogonal and of length 1");
}

}  // namespace stoker::nodes
