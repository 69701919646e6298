#include <cmath>

#include "config/usual_bounds.h"
#include "model/nodes/loss_node.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {
namespace {

struct DistinctnessSettings {
  double weight = 0.1;
  double eps = 1e-6;
};

config::Fields fields(DistinctnessSettings& s) {
  return {weight_field(s.weight), config::field("eps", s.eps, "Least length that a row is taken to have")
                                      .above(0)
                                      .within(0, config::largest_eps)};
}

class DistinctnessLoss final : public LossNode<DistinctnessSettings> {
 public:
  using LossNode::LossNode;

  Ports inputs() const override {
    return {{"selection_weights", DType::float32, {-1, -1}, "Weights of each selector, one a row"}};
  }
  Values forward(const Pass& pass) const override {
    const Eigen::MatrixXd unit = units(value_at(pass.inputs, "selection_weights"));
    const double pairs = pairs_of(unit);
    if (pairs == 0) return loss(0);
    // All pairs are half of the square of the sum, less each with itself.
    const double cosines = (unit.colwise().sum().squaredNorm() - unit.squaredNorm()) / 2;
    return loss(settings_.weight * cosines / pairs);
  }
  Gradients backward(const PassBack& pass) const override {
    const Array& weights = value_at(pass.inputs, "selection_weights");
    const Eigen::MatrixXd unit = units(weights);
    const double pairs = pairs_of(unit);
    PixelMatrix gradient = PixelMatrix::Zero(unit.rows(), unit.cols());
    const Eigen::RowVectorXd sum = unit.colwise().sum();
    for (Eigen::Index i = 0; i < unit.rows() && pairs > 0; ++i) {
      const Eigen::RowVectorXd of_unit = settings_.weight * change(pass) / pairs * (sum - unit.row(i));
      const double length = pixels_of(weights).row(i).cast<double>().norm();
      if (length > settings_.eps)
        gradient.row(i) = ((of_unit - unit.row(i) * unit.row(i).dot(of_unit)) / length).cast<float>();
      else
        gradient.row(i) = (of_unit / settings_.eps).cast<float>();
    }
    return {{{"selection_weights", from_matrix_of_floats(gradient, weights.shape())}}, {}};
  }

 private:
  static double pairs_of(const Eigen::MatrixXd& unit) {
    return static_cast<double>(unit.rows()) * static_cast<double>(unit.rows() - 1) / 2;
  }
  Eigen::MatrixXd units(const Array& weights) const {
    const Eigen::MatrixXd given = pixels_of(weights).cast<double>();
    return given.array().colwise() / given.rowwise().norm().array().max(settings_.eps);
  }
};

}  // namespace

NodeType distinctness_loss() {
  return type_of<DistinctnessLoss>("DistinctnessLoss", NodeKind::loss,
                                   "How alike the selectors are: the mean cosine of all pairs");
}

}  // namespace stoker::nodes
