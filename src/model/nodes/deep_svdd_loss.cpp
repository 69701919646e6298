#include "model/network/sigmoid.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/loss_node.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {
namespace {

struct SvddLossSettings {
  double nu = 0.05;
  double weight = 1;
};

config::Fields fields(SvddLossSettings& s) {
  return {config::field("nu", s.nu, "Share of the pixels that may lie outside").above(0).below(1),
          weight_field(s.weight)};
}

class DeepSvddSoftBoundaryLoss final : public LossNode<SvddLossSettings> {
 public:
  using LossNode::LossNode;

  Ports inputs() const override {
    return {cube_port("embeddings", "Of pixels"), {"center", DType::float32, {-1}, "Of the sphere"}};
  }
  Ports outputs(const Ports& connected) const override {
    check_same_channels(connected[0], connected[1]);
    return LossNode::outputs(connected);
  }
  std::vector<std::string> trainable() const override { return {"r_unconstrained"}; }
  NamedArrays begin(const Ports&, const Known&) const override {
    return {{"r_unconstrained", one_number(0)}};
  }

  Values forward(const Pass& pass) const override {
    check_same_channels(pass.inputs, "embeddings", "center");
    const double radius = radius_of(pass.state);
    const Eigen::ArrayXd outside = distances(pass.inputs) - radius * radius;
    return loss(settings_.weight * (radius * radius + outside.max(0.0).mean() / settings_.nu));
  }
  Gradients backward(const PassBack& pass) const override {
    const Array& embeddings = value_at(pass.inputs, "embeddings");
    const double radius = radius_of(pass.state);
    const Eigen::ArrayXd is_outside = (distances(pass.inputs) > radius * radius).cast<double>();
    const double factor = settings_.weight * change(pass);
    const double each = factor / (settings_.nu * static_cast<double>(is_outside.size()));
    const auto centre = pixels_of(value_at(pass.inputs, "center")).row(0);
    const PixelMatrix gradient =
        ((pixels_of(embeddings).rowwise() - centre).array().colwise() * (2 * each * is_outside).cast<float>())
            .matrix();
    const double of_square = factor - each * is_outside.sum();
    const double raw = number_in(find_array(pass.state, "r_unconstrained"));
    const double of_raw = of_square * 2 * radius * sigmoid(sharpness * raw);
    return {{{"embeddings", from_matrix_of_floats(gradient, embeddings.shape())},
             {"center",
              from_matrix_of_floats(PixelMatrix(-gradient.colwise().sum()), {channels_in(embeddings)})}},
            {{"r_unconstrained", one_number(of_raw)}}};
  }

 private:
  static constexpr double sharpness = 10;  // of the softplus that keeps the radius above 0

  static double radius_of(const NamedArrays& state) {
    const double raw = sharpness * number_in(find_array(state, "r_unconstrained"));
    return softplus(raw) / sharpness;
  }
  static Eigen::ArrayXd distances(const Values& inputs) {
    const auto centre = pixels_of(value_at(inputs, "center")).row(0);
    return (pixels_of(value_at(inputs, "embeddings")).rowwise() - centre)
        .rowwise()
        .squaredNorm()
        .cast<double>()
        .array();
  }
};

}  // namespace

NodeType deep_svdd_loss() {
  return type_of<DeepSvddSoftBoundaryLoss>("DeepSVDDSoftBoundaryLoss", NodeKind::loss,
                                           "The radius of a sphere and how far embeddings lie outside");
}

}  // namespace stoker::nodes
