#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "config/usual_bounds.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {

enum class MixerBegins : std::uint8_t { xavier, kaiming, pca, zeros };

}  // namespace stoker::nodes

template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::nodes::MixerBegins>{
    "xavier", "kaiming", "pca", "zeros"};

namespace stoker::nodes {
namespace {

struct MixerSettings {
  std::int64_t input_channels = 0;
  std::int64_t output_channels = 3;
  double leaky_relu_negative_slope = 0.01;
  bool use_bias = true;
  bool use_activation = true;
  bool normalize_output = true;
  MixerBegins init_method = MixerBegins::xavier;
  double eps = 1e-6;
  std::vector<std::int64_t> reduction_scheme;
};

config::Fields fields(MixerSettings& s) {
  return {channel_count_field("input_channels", s.input_channels),
          config::field("output_channels", s.output_channels, "Channels that come out")
              .within(1, config::widest_layer)
              .required(),
          config::field("leaky_relu_negative_slope", s.leaky_relu_negative_slope,
                        "Slope of the activation below 0")
              .within(0, 1000),
          config::field("use_bias", s.use_bias, "Adds a number to each mixture"),
          config::field("use_activation", s.use_activation, "A leaky ReLU behind each layer"),
          config::field("normalize_output", s.normalize_output,
                        "Brings each channel of each image to the range from 0 to 1"),
          config::field("init_method", s.init_method,
                        "Weights of the first layer; those of the others are xavier's where it is pca"),
          config::field("eps", s.eps, "Least width that a range is taken to have")
              .above(0)
              .within(0, config::largest_eps),
          config::field(
              "reduction_scheme", s.reduction_scheme,
              "Channels of all layers, from those that come in to those that come out; empty: one layer")
              .within(1, config::widest_layer)};
}

class LearnableChannelMixer final : public NodeWith<MixerSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "Channels to mix")}; }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.input_channels, "input_channels", connected);
    const std::vector<std::int64_t> widths = widths_for(connected[0].shape.back());
    return {{"rgb", DType::float32, with_last(connected[0].shape, settings_.output_channels), "The mixtures"},
            {"weights",
             DType::float32,
             {settings_.output_channels, widths[widths.size() - 2]},
             "Of the last layer"}};
  }
  Asks asks() const override {
    return settings_.init_method == MixerBegins::pca ? Asks::products : Asks::nothing;
  }
  std::vector<std::string> trainable() const override {
    std::vector<std::string> names;
    for (std::size_t i = 0; i + 1 < std::max<std::size_t>(2, settings_.reduction_scheme.size()); ++i) {
      names.push_back(weight_name(i));
      if (settings_.use_bias) names.push_back(bias_name(i));
    }
    return names;
  }

  NamedArrays begin(const Ports& connected, const Known& known) const override {
    const std::vector<std::int64_t> widths = widths_for(connected[0].shape.back());
    NamedArrays state;
    for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
      const std::int64_t in = widths[layer], out = widths[layer + 1];
      std::vector<double> weights(static_cast<std::size_t>(in * out));
      if (settings_.init_method == MixerBegins::pca && layer == 0) {
        const EigenSystem system = eigen_system(covariance_of(*known.statistics), in);
        std::copy_n(system.vectors.begin(), std::min(weights.size(), system.vectors.size()), weights.begin());
      } else if (settings_.init_method != MixerBegins::zeros) {
        const double slope = settings_.leaky_relu_negative_slope;
        const double bound = settings_.init_method == MixerBegins::kaiming
                                 ? std::sqrt(6 / ((1 + slope * slope) * static_cast<double>(in)))
                                 : std::sqrt(6 / static_cast<double>(in + out));
        const RandomKey key = random_key(known.seed, Purpose::initialise, layer);
        for (std::size_t i = 0; i < weights.size(); ++i)
          weights[i] = bound * (2 * uniform(key, static_cast<std::uint32_t>(i)) - 1);
      }
      state.push_back({weight_name(layer), numbers({out, in}, weights)});
      if (settings_.use_bias)
        state.push_back(
            {bias_name(layer), numbers({out}, std::vector<double>(static_cast<std::size_t>(out)))});
    }
    return state;
  }

  bool looks_at_images() const override { return settings_.normalize_output; }
  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    std::vector<PixelMatrix> layers = layers_of(data, pass.state);
    Array result = with_channels(data, settings_.output_channels);
    pixels_of(result) = layers.back();
    if (settings_.normalize_output) normalise(result);
    return {{"rgb", result}, {"weights", find_array(pass.state, weight_name(layers.size() - 1)).clone()}};
  }

  // Where outputs are brought to a range, the pixels that have the extremes count as torch's do: the gradient
  // of a range goes to them.
  Gradients backward(const PassBack& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const std::vector<PixelMatrix> layers = layers_of(data, pass.state);
    Gradients found;
    PixelMatrix gradient = PixelMatrix::Zero(layers.back().rows(), layers.back().cols());
    if (const Array* given = value_if(pass.gradients, "rgb")) gradient = pixels_of(*given);
    if (settings_.normalize_output) through_range(layers.back(), data.dimension(0), gradient);
    for (std::size_t layer = layers.size(); layer-- > 0;) {
      if (settings_.use_activation)
        gradient = (layers[layer].array() <= 0)
                       .select(gradient * static_cast<float>(settings_.leaky_relu_negative_slope), gradient);
      const auto weight = matrix_in(pass.state, weight_name(layer));
      PixelMatrix of_weight =
          layer == 0 ? crossed(gradient, pixels_of(data)) : crossed(gradient, layers[layer - 1]);
      const Array* of_last = layer + 1 == layers.size() ? value_if(pass.gradients, "weights") : nullptr;
      if (of_last != nullptr) of_weight += pixels_of(*of_last);
      found.state.push_back(
          {weight_name(layer), from_matrix_of_floats(of_weight, {weight.rows(), weight.cols()})});
      if (settings_.use_bias)
        found.state.push_back({bias_name(layer), from_matrix_of_floats(PixelMatrix(gradient.colwise().sum()),
                                                                       {weight.rows()})});
      if (layer > 0 || pass.goes_further) gradient = multiplied(gradient, weight);
    }
    if (pass.goes_further) {
      Array of_data = with_channels(data, channels_in(data));
      pixels_of(of_data) = gradient;
      found.inputs["data"] = of_data;
    }
    return found;
  }

 private:
  // With a small matrix, and with another that has a row for each pixel; on all cores.
  template <class Pixels, class Matrix>
  static PixelMatrix multiplied(const Pixels& pixels, const Matrix& matrix) {
    PixelMatrix result(pixels.rows(), matrix.cols());
    each_part(pixels.rows(), [&](std::int64_t first, std::int64_t count) {
      set_product(pixels.middleRows(first, count), matrix, result.middleRows(first, count));
    });
    return result;
  }
  template <class Pixels>
  static PixelMatrix crossed(const PixelMatrix& left, const Pixels& right) {
    const PixelMatrix zero = PixelMatrix::Zero(left.cols(), right.cols());
    return sum_over_parts(left.rows(), zero, [&](std::int64_t first, std::int64_t count, PixelMatrix& sum) {
      few_by_few(first, count, [&](std::int64_t at, std::int64_t some) {
        add_crossed(left.middleRows(at, some), right.middleRows(at, some), sum);
      });
    });
  }

  static std::string weight_name(std::size_t layer) { return fmt::format("convs.{}.weight", layer); }
  static std::string bias_name(std::size_t layer) { return fmt::format("convs.{}.bias", layer); }

  std::vector<std::int64_t> widths_for(std::int64_t channels) const {
    if (settings_.reduction_scheme.empty()) return {channels, settings_.output_channels};
    const std::vector<std::int64_t>& widths = settings_.reduction_scheme;
    if (widths.size() < 2 || (channels >= 0 && widths.front() != channels) ||
        widths.back() != settings_.output_channels || *std::ranges::min_element(widths) < 1)
      refuse("reduction_scheme must lead from the {} channels that come in to output_channels, {}; it is {}",
             channels, settings_.output_channels, fmt::format("[{}]", fmt::join(widths, ", ")));
    return widths;
  }

  // What each layer gives, the activation behind it included.
  std::vector<PixelMatrix> layers_of(const Array& data, const NamedArrays& state) const {
    std::vector<PixelMatrix> layers;
    const std::size_t count = std::max<std::size_t>(2, settings_.reduction_scheme.size()) - 1;
    for (std::size_t layer = 0; layer < count; ++layer) {
      const auto weight = matrix_in(state, weight_name(layer));
      PixelMatrix sums = layer == 0 ? multiplied(pixels_of(data), weight.transpose())
                                    : multiplied(layers.back(), weight.transpose());
      if (settings_.use_bias) sums.rowwise() += matrix_in(state, bias_name(layer)).row(0);
      if (settings_.use_activation)
        sums =
            (sums.array() < 0).select(sums * static_cast<float>(settings_.leaky_relu_negative_slope), sums);
      layers.push_back(std::move(sums));
    }
    return layers;
  }

  void normalise(Array& result) const {
    const std::int64_t images = result.dimension(0);
    const std::int64_t size = pixels_of_image(result);
    for (std::int64_t i = 0; i < images; ++i) {
      auto image = pixels_of(result).middleRows(i * size, size);
      const Eigen::RowVectorXf least = image.colwise().minCoeff();
      const Eigen::RowVectorXf range =
          (image.colwise().maxCoeff() - least).array().max(static_cast<float>(settings_.eps)).matrix();
      image = ((image.rowwise() - least).array().rowwise() / range.array()).matrix().eval();
    }
  }

  void through_range(const PixelMatrix& mixed, std::int64_t images, PixelMatrix& gradient) const {
    const std::int64_t size = images == 0 ? 0 : mixed.rows() / images;
    for (std::int64_t i = 0; i < images; ++i)
      for (Eigen::Index channel = 0; channel < mixed.cols(); ++channel) {
        const auto values = mixed.col(channel).segment(i * size, size);
        auto changes = gradient.col(channel).segment(i * size, size);
        Eigen::Index at_least = 0, at_most = 0;
        const float least = values.minCoeff(&at_least);
        const float range = values.maxCoeff(&at_most) - least;
        const float width = std::max(range, static_cast<float>(settings_.eps));
        const double sum = changes.cast<double>().sum() / static_cast<double>(width);
        const double of_width = range > static_cast<float>(settings_.eps)
                                    ? -(changes.cast<double>().array() *
                                        (values.cast<double>().array() - static_cast<double>(least)))
                                              .sum() /
                                          (static_cast<double>(width) * static_cast<double>(width))
                                    : 0.0;
        changes /= width;
        changes[at_least] += static_cast<float>(-sum - of_width);
        changes[at_most] += static_cast<float>(of_width);
      }
  }
};

}  // namespace

NodeType learnable_channel_mixer() {
  return type_of<LearnableChannelMixer>("LearnableChannelMixer", NodeKind::statistical,
                                        "Mixes channels into fewer, by weights that may be trained");
}

}  // namespace stoker::nodes
