#include "config/usual_bounds.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct UnitNormSettings {
  double eps = 1e-8;
};

config::Fields fields(UnitNormSettings& s) {
  return {config::field("eps", s.eps, "Least length that a pixel is taken to have")
              .above(0)
              .within(0, config::largest_eps)};
}

class PerPixelUnitNorm final : public NodeWith<UnitNormSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "What to scale")}; }
  Ports outputs(const Ports& connected) const override {
    return {{"normalized", DType::float32, connected[0].shape, "Pixels of length 1"}};
  }

  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    Array result = with_channels(data, channels_in(data));
    each_part(pixels_in(data), [&](std::int64_t first, std::int64_t count) {
      const auto pixels = pixels_of(data).middleRows(first, count);
      pixels_of(result).middleRows(first, count) =
          pixels.array().colwise() / pixels.rowwise().norm().array().max(static_cast<float>(settings_.eps));
    });
    return {{"normalized", result}};
  }

  Gradients backward(const PassBack& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const auto gradient = pixels_of(value_at(pass.gradients, "normalized"));
    const auto unit = pixels_of(value_at(pass.outputs, "normalized"));
    Array result = with_channels(data, channels_in(data));
    for (Eigen::Index row = 0; row < gradient.rows(); ++row) {
      const float length = pixels_of(data).row(row).norm();
      const auto least = static_cast<float>(settings_.eps);
      if (length > least)
        pixels_of(result).row(row) =
            (gradient.row(row) - unit.row(row) * unit.row(row).dot(gradient.row(row))) / length;
      else
        pixels_of(result).row(row) = gradient.row(row) / least;
    }
    return {{{"data", result}}, {}};
  }
};

}  // namespace

NodeType per_pixel_unit_norm() {
  return type_of<PerPixelUnitNorm>("PerPixelUnitNorm", NodeKind::stateless,
                                   "Divides each pixel by its length");
}

}  // namespace stoker::nodes
