#include <cmath>

#include "config/usual_bounds.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct AngleSettings {
  std::int64_t num_channels = 0;
  double eps = 1e-12;
};

config::Fields fields(AngleSettings& s) {
  return {channel_count_field("num_channels", s.num_channels),
          config::field("eps", s.eps, "Added to the product of two lengths")
              .above(0)
              .within(0, config::largest_eps)};
}

class SpectralAngleMapper final : public NodeWith<AngleSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override {
    return {cube_port("cube", "Pixels to compare"),
            {"spectral_signature", DType::float32, {-1, 1, 1, -1}, "Spectra to compare them with"}};
  }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.num_channels, "num_channels", connected);
    check_same_channels(connected[0], connected[1]);
    const Shape& shape = connected[0].shape;
    return {
        {"scores", DType::float32, with_last(shape, connected[1].shape.front()),
         "Angle to each spectrum, in radians"},
        {"best_scores", DType::float32, with_last(shape, 1), "The least of them"},
        {"identity_mask", DType::int32, {shape[0], shape[1], shape[2]}, "Which spectrum that is, from 1 on"}};
  }

  // A spectrum's brightness has no part in an angle.
  Values forward(const Pass& pass) const override {
    const Array& cube = value_at(pass.inputs, "cube");
    check_same_channels(pass.inputs, "cube", "spectral_signature");
    const Array& spectra = value_at(pass.inputs, "spectral_signature");
    const Eigen::MatrixXd known = pixels_of(spectra).cast<double>();
    const Eigen::VectorXd lengths = known.rowwise().norm();
    Array scores = with_channels(cube, known.rows());
    Array best = with_channels(cube, 1);
    Array identity(DType::int32, {cube.dimension(0), cube.dimension(1), cube.dimension(2)});
    each_part(pixels_in(cube), [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t row = first; row < first + count; ++row) {
        const Eigen::VectorXd pixel = pixels_of(cube).row(row).transpose().cast<double>();
        const Eigen::ArrayXd cosine =
            (known * pixel).array() / (lengths.array() * pixel.norm() + settings_.eps);
        const Eigen::ArrayXd angle = cosine.max(-1.0).min(1.0).acos();
        Eigen::Index least = 0;
        const double smallest = angle.minCoeff(&least);
        pixels_of(scores).row(row) = angle.cast<float>().matrix().transpose();
        pixels_of(best)(row, 0) = static_cast<float>(smallest);
        identity.as<std::int32_t>()[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(least) + 1;
      }
    });
    return {{"scores", scores}, {"best_scores", best}, {"identity_mask", identity}};
  }
};

}  // namespace

NodeType spectral_angle_mapper() {
  return type_of<SpectralAngleMapper>("SpectralAngleMapper", NodeKind::stateless,
                                      "The angle between each pixel and known spectra");
}

}  // namespace stoker::nodes
