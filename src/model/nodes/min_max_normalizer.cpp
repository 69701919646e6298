#include <algorithm>

#include "base/error.h"
#include "config/usual_bounds.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct MinMaxSettings {
  double eps = 1e-6;
  bool use_running_stats = true;
  bool per_channel = true;
};

config::Fields fields(MinMaxSettings& s) {
  return {config::field("eps", s.eps, "Least width that a range is taken to have")
              .above(0)
              .within(0, config::largest_eps),
          config::field("use_running_stats", s.use_running_stats,
                        "Ranges of all training pixels; otherwise those of each image by itself"),
          config::field("per_channel", s.per_channel,
                        "A range for each channel; otherwise one for all, as cuvis.ai has it. Of "
                        "use_running_stats")};
}

class MinMaxNormalizer final : public NodeWith<MinMaxSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "What to scale")}; }
  Ports outputs(const Ports& connected) const override {
    return {{"normalized", DType::float32, connected[0].shape, "From 0 to 1 over the range"}};
  }
  Asks asks() const override { return settings_.use_running_stats ? Asks::extremes : Asks::nothing; }

  NamedArrays begin(const Ports&, const Known& known) const override {
    if (!settings_.use_running_stats) return {};
    std::vector<double> least = known.statistics->least;
    std::vector<double> most = known.statistics->most;
    if (!settings_.per_channel) {
      std::ranges::fill(least, *std::ranges::min_element(known.statistics->least));
      std::ranges::fill(most, *std::ranges::max_element(known.statistics->most));
    }
    const auto channels = static_cast<std::int64_t>(least.size());
    return {{"running_min", numbers({channels}, least)}, {"running_max", numbers({channels}, most)}};
  }

  std::optional<Affine> affine(const NamedArrays& state) const override {
    if (!settings_.use_running_stats) return std::nullopt;
    std::vector<double> factors, offset;
    const auto least = find_array(state, "running_min").as<float>();
    const auto factor = factors_of(state);
    for (std::size_t i = 0; i < least.size(); ++i) {
      factors.push_back(static_cast<double>(factor[static_cast<Eigen::Index>(i)]));
      offset.push_back(-static_cast<double>(least[i]) * factors.back());
    }
    return affine_of_channels(factors, offset);
  }

  bool looks_at_images() const override { return !settings_.use_running_stats; }
  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    Array result = with_channels(data, channels_in(data));
    if (settings_.use_running_stats) {
      const auto factor = factors_of(pass.state);
      const auto least = matrix_in(pass.state, "running_min").row(0);
      each_part(pixels_in(data), [&](std::int64_t first, std::int64_t count) {
        pixels_of(result).middleRows(first, count) =
            (pixels_of(data).middleRows(first, count).rowwise() - least).array().rowwise() * factor;
      });
    } else {
      each_image(data, [&](std::int64_t first, std::int64_t count, const auto& least, const auto& factor) {
        pixels_of(result).middleRows(first, count) =
            (pixels_of(data).middleRows(first, count).rowwise() - least).array().rowwise() * factor.array();
      });
    }
    return {{"normalized", result}};
  }

  // The range of an image, where it is the image's own, is taken as given.
  Gradients backward(const PassBack& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const Array& gradient = value_at(pass.gradients, "normalized");
    Array result = with_channels(data, channels_in(data));
    if (settings_.use_running_stats) {
      pixels_of(result) = pixels_of(gradient).array().rowwise() * factors_of(pass.state);
    } else {
      each_image(data, [&](std::int64_t first, std::int64_t count, const auto&, const auto& factor) {
        pixels_of(result).middleRows(first, count) =
            pixels_of(gradient).middleRows(first, count).array().rowwise() * factor.array();
      });
    }
    return {{{"data", result}}, {}};
  }

 private:
  Eigen::Array<float, 1, Eigen::Dynamic> factors_of(const NamedArrays& state) const {
    return (matrix_in(state, "running_max").row(0) - matrix_in(state, "running_min").row(0))
        .array()
        .max(static_cast<float>(settings_.eps))
        .inverse();
  }

  template <class Use>
  void each_image(const Array& data, const Use& use) const {
    const std::int64_t images = data.dimension(0);
    const std::int64_t size = pixels_of_image(data);
    for (std::int64_t i = 0; i < images; ++i) {
      const auto image = pixels_of(data).middleRows(i * size, size);
      const Eigen::RowVectorXf least = image.colwise().minCoeff();
      const Eigen::RowVectorXf most = image.colwise().maxCoeff();
      const Eigen::RowVectorXf factor =
          (most - least).array().max(static_cast<float>(settings_.eps)).inverse().matrix();
      use(i * size, size, least, factor);
    }
  }
};

}  // namespace

NodeType min_max_normalizer() {
  return type_of<MinMaxNormalizer>("MinMaxNormalizer", NodeKind::statistical,
                                   "Takes each channel's least value away and divides by its range");
}

}  // namespace stoker::nodes
