#include <cmath>

#include "base/error.h"
#include "config/usual_bounds.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct ZScoreSettings {
  std::int64_t num_channels = 0;
  double eps = 1e-8;
};

config::Fields fields(ZScoreSettings& s) {
  return {channel_count_field("num_channels", s.num_channels),
          config::field("eps", s.eps, "Added to the deviation")
              .above(0)
              .within(0, config::largest_eps)
              .needs_no("hidden",
                        "a normalizer has no hidden layer; cuvis.ai writes the setting and ignores it")};
}

class ZScoreNormalizerGlobal final : public NodeWith<ZScoreSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "What to scale")}; }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.num_channels, "num_channels", connected);
    return {{"normalized", DType::float32, connected[0].shape, "With mean 0 and deviation 1"}};
  }
  Asks asks() const override { return Asks::moments; }
  std::vector<std::string> trainable() const override { return {"zscore_mean", "zscore_std"}; }

  NamedArrays begin(const Ports&, const Known& known) const override {
    const kernels::Statistics& of = *known.statistics;
    if (of.rows < 2) refuse("a deviation needs at least 2 pixels; there are {}", static_cast<int>(of.rows));
    std::vector<double> deviations;
    for (const double squares : of.squares)
      deviations.push_back(std::sqrt(squares / (of.rows - 1)) + settings_.eps);
    const auto channels = static_cast<std::int64_t>(of.mean.size());
    return {{"zscore_mean", numbers({channels}, of.mean)}, {"zscore_std", numbers({channels}, deviations)}};
  }

  std::optional<Affine> affine(const NamedArrays& state) const override {
    std::vector<double> factors, offset;
    const auto mean = find_array(state, "zscore_mean").as<float>();
    const auto deviation = find_array(state, "zscore_std").as<float>();
    for (std::size_t i = 0; i < mean.size(); ++i) {
      factors.push_back(1 / static_cast<double>(deviation[i]));
      offset.push_back(-static_cast<double>(mean[i]) * factors.back());
    }
    return affine_of_channels(factors, offset);
  }

  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    Array result = with_channels(data, channels_in(data));
    const auto mean = matrix_in(pass.state, "zscore_mean").row(0);
    const auto deviation = matrix_in(pass.state, "zscore_std").row(0).array();
    each_part(pixels_in(data), [&](std::int64_t first, std::int64_t count) {
      pixels_of(result).middleRows(first, count) =
          (pixels_of(data).middleRows(first, count).rowwise() - mean).array().rowwise() / deviation;
    });
    return {{"normalized", result}};
  }

  Gradients backward(const PassBack& pass) const override {
    const Array& gradient = value_at(pass.gradients, "normalized");
    const auto deviation = matrix_in(pass.state, "zscore_std").row(0).array();
    Array result = with_channels(gradient, channels_in(gradient));
    pixels_of(result) = pixels_of(gradient).array().rowwise() / deviation;
    const auto normalized = pixels_of(value_at(pass.outputs, "normalized"));
    const PixelMatrix of_mean = -pixels_of(result).colwise().sum();
    const PixelMatrix of_deviation =
        -(pixels_of(result).array() * normalized.array()).colwise().sum().matrix();
    const std::int64_t channels = channels_in(gradient);
    return {{{"data", result}},
            {{"zscore_mean", from_matrix_of_floats(of_mean, {channels})},
             {"zscore_std", from_matrix_of_floats(of_deviation, {channels})}}};
  }
};

}  // namespace

NodeType z_score_normalizer() {
  return type_of<ZScoreNormalizerGlobal>("ZScoreNormalizerGlobal", NodeKind::statistical,
                                         "Takes each channel's mean away and divides by its deviation");
}

}  // namespace stoker::nodes
