#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "config/usual_bounds.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {

enum class PcaBegins : std::uint8_t { svd, random };

}  // namespace stoker::nodes

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::nodes::PcaBegins>{"svd",
                                                                                                 "random"};

namespace stoker::nodes {
namespace {

struct PcaSettings {
  std::int64_t num_channels = 0;
  std::int64_t n_components = 3;
  bool whiten = false;
  PcaBegins init_method = PcaBegins::svd;
  double eps = 1e-6;
};

config::Fields fields(PcaSettings& s) {
  return {channel_count_field("num_channels", s.num_channels),
          config::field("n_components", s.n_components, "Components to keep")
              .within(1, config::widest_layer)
              .required(),
          config::field("whiten", s.whiten, "Divides each component by its deviation"),
          config::field("init_method", s.init_method,
                        "svd: the axes along which pixels vary most; random: any that are orthogonal"),
          config::field("eps", s.eps, "Added to a variance before its root is taken")
              .above(0)
              .within(0, config::largest_eps)};
}

class TrainablePca final : public NodeWith<PcaSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "What to project")}; }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.num_channels, "num_channels", connected);
    const std::int64_t channels = connected[0].shape.back();
    const std::int64_t kept = settings_.n_components;
    if (channels >= 0 && kept > channels)
      refuse("n_components is {}, but only {} channels come in", kept, channels);
    return {
        {"projected", DType::float32, with_last(connected[0].shape, kept), "The components of each pixel"},
        {"explained_variance_ratio", DType::float32, {kept}, "Share of the variance that each has"},
        {"components", DType::float32, {kept, channels}, "The axes, one a row"}};
  }
  Asks asks() const override { return Asks::products; }
  std::vector<std::string> trainable() const override { return {"components"}; }

  NamedArrays begin(const Ports&, const Known& known) const override {
    const auto channels = static_cast<std::int64_t>(known.statistics->mean.size());
    const std::int64_t kept = settings_.n_components;
    if (kept > channels) refuse("n_components is {}, but only {} channels come in", kept, channels);
    const std::vector<double> covariance = covariance_of(*known.statistics);
    const EigenSystem system = settings_.init_method == PcaBegins::random
                                   ? random_axes(covariance, channels, known.seed)
                                   : eigen_system(covariance, channels);
    double total = 0;
    for (std::int64_t i = 0; i < channels; ++i)
      total += covariance[static_cast<std::size_t>(i * (channels + 1))];
    std::vector<double> ratios;
    for (std::int64_t i = 0; i < kept; ++i)
      ratios.push_back(total > 0 ? system.values[static_cast<std::size_t>(i)] / total : 0);
    return {{"mean", numbers({channels}, known.statistics->mean)},
            {"explained_variance", numbers({kept}, system.values)},
            {"explained_variance_ratio", numbers({kept}, ratios)},
            {"components", numbers({kept, channels}, system.vectors)}};
  }

  std::optional<Affine> affine(const NamedArrays& state) const override {
    const auto components = matrix_in(state, "components");
    const auto mean = matrix_in(state, "mean");
    const auto factors = factors_of(state);
    Affine affine{components.cols(), components.rows(), {}, {}};
    for (Eigen::Index i = 0; i < components.rows(); ++i) {
      double offset = 0;
      for (Eigen::Index j = 0; j < components.cols(); ++j) {
        affine.matrix.push_back(static_cast<double>(components(i, j)) * static_cast<double>(factors(i)));
        offset -= affine.matrix.back() * static_cast<double>(mean(0, j));
      }
      affine.offset.push_back(offset);
    }
    return affine;
  }

  std::optional<NamedArrays> affine_gradient(const NamedArrays& state, const Affine& changes) const override {
    const auto mean = matrix_in(state, "mean");
    const auto factors = factors_of(state);
    std::vector<double> of_components;
    for (std::int64_t i = 0; i < changes.outputs; ++i)
      for (std::int64_t j = 0; j < changes.inputs; ++j)
        of_components.push_back(static_cast<double>(factors(i)) *
                                (changes.at(i, j) - changes.offset[static_cast<std::size_t>(i)] *
                                                        static_cast<double>(mean(0, j))));
    return NamedArrays{{"components", numbers({changes.outputs, changes.inputs}, of_components)}};
  }

  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const auto components = matrix_in(pass.state, "components");
    const auto mean = matrix_in(pass.state, "mean").row(0);
    const auto factors = factors_of(pass.state);
    Array result = with_channels(data, components.rows());
    each_part(pixels_in(data), [&](std::int64_t first, std::int64_t count) {
      PixelMatrix centred, projected;
      few_by_few(first, count, [&](std::int64_t at, std::int64_t some) {
        centred = pixels_of(data).middleRows(at, some).rowwise() - mean;
        projected.resize(some, components.rows());
        set_product(centred, components.transpose(), projected);
        pixels_of(result).middleRows(at, some) = projected.array().rowwise() * factors;
      });
    });
    return {{"projected", result},
            {"explained_variance_ratio", find_array(pass.state, "explained_variance_ratio").clone()},
            {"components", find_array(pass.state, "components").clone()}};
  }

  Gradients backward(const PassBack& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const auto components = matrix_in(pass.state, "components");
    const auto mean = matrix_in(pass.state, "mean").row(0);
    const auto factors = factors_of(pass.state);
    PixelMatrix of_components = PixelMatrix::Zero(components.rows(), components.cols());
    Gradients found;
    if (const Array* gradient = value_if(pass.gradients, "projected")) {
      Array of_data = pass.goes_further ? with_channels(data, channels_in(data)) : Array();
      of_components = sum_over_parts(
          pixels_in(data), of_components, [&](std::int64_t first, std::int64_t count, PixelMatrix& sum) {
            PixelMatrix scaled, centred;
            few_by_few(first, count, [&](std::int64_t at, std::int64_t some) {
              scaled = pixels_of(*gradient).middleRows(at, some).array().rowwise() * factors;
              centred = pixels_of(data).middleRows(at, some).rowwise() - mean;
              add_crossed(scaled, centred, sum);
              if (pass.goes_further) set_product(scaled, components, pixels_of(of_data).middleRows(at, some));
            });
          });
      if (pass.goes_further) found.inputs["data"] = of_data;
    }
    if (const Array* gradient = value_if(pass.gradients, "components")) of_components += pixels_of(*gradient);
    found.state.push_back(
        {"components", from_matrix_of_floats(of_components, {components.rows(), components.cols()})});
    return found;
  }

 private:
  Eigen::Array<float, 1, Eigen::Dynamic> factors_of(const NamedArrays& state) const {
    const auto variance = matrix_in(state, "explained_variance").row(0).array();
    if (!settings_.whiten) return Eigen::Array<float, 1, Eigen::Dynamic>::Ones(variance.cols());
    return (variance + static_cast<float>(settings_.eps)).rsqrt();
  }

  // The axes of random numbers' products: orthogonal, and of no direction that pixels prefer.
  static EigenSystem random_axes(const std::vector<double>& covariance, std::int64_t channels,
                                 std::uint64_t seed) {
    const RandomKey key = random_key(seed, Purpose::initialise, 0);
    std::vector<double> drawn(covariance.size());
    for (std::int64_t i = 0; i < channels; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        drawn[static_cast<std::size_t>(i * channels + j)] =
            drawn[static_cast<std::size_t>(j * channels + i)] =
                normal(key, static_cast<std::uint32_t>(i * channels + j));
    EigenSystem axes = eigen_system(drawn, channels);
    for (std::int64_t axis = 0; axis < channels; ++axis) {
      const double* vector = axes.vectors.data() + axis * channels;
      double variance = 0;
      for (std::int64_t i = 0; i < channels; ++i)
        for (std::int64_t j = 0; j < channels; ++j)
          variance += vector[i] * vector[j] * covariance[static_cast<std::size_t>(i * channels + j)];
      axes.values[static_cast<std::size_t>(axis)] = variance;
    }
    return axes;
  }
};

}  // namespace

NodeType trainable_pca() {
  return type_of<TrainablePca>(
      "TrainablePCA", NodeKind::statistical,
      "Projects pixels onto the axes along which they vary most, which may be trained");
}

}  // namespace stoker::nodes
