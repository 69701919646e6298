#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "config/usual_bounds.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {

enum class SvddKernel : std::uint8_t { linear, rbf };

}  // namespace stoker::nodes

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::nodes::SvddKernel>{"linear",
                                                                                                  "rbf"};

namespace stoker::nodes {
namespace {

struct SvddSettings {
  std::int64_t in_channels = 0;
  std::int64_t rep_dim = 32;
  std::int64_t hidden = 128;
  SvddKernel kernel = SvddKernel::linear;
  std::int64_t n_rff = 2048;
  std::optional<double> gamma;
};

config::Fields fields(SvddSettings& s) {
  return {channel_count_field("in_channels", s.in_channels),
          config::field("rep_dim", s.rep_dim, "Numbers that a pixel becomes").within(1, config::widest_layer),
          config::field("hidden", s.hidden, "Width of the hidden layer").within(1, config::widest_layer),
          config::field("kernel", s.kernel,
                        "linear: channels as they are; rbf: random Fourier features of them first"),
          config::field("n_rff", s.n_rff, "Random Fourier features. Of kernel rbf")
              .within(1, config::widest_layer),
          config::field("gamma", s.gamma, "Of kernel rbf; not set: 1 / channels")
              .optional()
              .above(0)
              .within(0, config::largest_eps)
              .needs_no("mlp_forward_batch_size", "pixels are always embedded a few thousand at a time")};
}

class DeepSvddProjection final : public NodeWith<SvddSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "Pixels to embed")}; }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.in_channels, "in_channels", connected);
    return {{"embeddings", DType::float32, with_last(connected[0].shape, settings_.rep_dim),
             "fc2 (ReLU (fc1 x))"}};
  }
  std::vector<std::string> trainable() const override { return {"fc1.weight", "fc1.bias", "fc2.weight"}; }

  NamedArrays begin(const Ports& connected, const Known& known) const override {
    const std::int64_t channels = connected[0].shape.back();
    const std::int64_t in = settings_.kernel == SvddKernel::rbf ? settings_.n_rff : channels;
    const double first = 1 / std::sqrt(static_cast<double>(in));
    const double second = std::sqrt(6 / static_cast<double>(settings_.hidden + settings_.rep_dim));
    NamedArrays state{{"fc1.weight", drawn({settings_.hidden, in}, first, known.seed, 0)},
                      {"fc1.bias", drawn({settings_.hidden}, first, known.seed, 1)},
                      {"fc2.weight", drawn({settings_.rep_dim, settings_.hidden}, second, known.seed, 2)}};
    if (settings_.kernel == SvddKernel::rbf) {
      const double scale = std::sqrt(2 * settings_.gamma.value_or(1 / static_cast<double>(channels)));
      const RandomKey key = random_key(known.seed, Purpose::initialise, 3);
      std::vector<double> weights(static_cast<std::size_t>(channels * in));
      for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = scale * normal(key, static_cast<std::uint32_t>(i));
      state.push_back({"rff.weight", numbers({in, channels}, weights)});
      Array phases = drawn({in}, std::numbers::pi, known.seed, 4);
      pixels_of(phases).array() += static_cast<float>(std::numbers::pi);
      state.push_back({"rff.phase", phases});
    }
    return state;
  }

  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    Array result = with_channels(data, settings_.rep_dim);
    each_part(pixels_in(data), [&](std::int64_t first, std::int64_t count) {
      few_by_few(first, count, [&](std::int64_t at, std::int64_t some) {
        const PixelMatrix entered = entrance(pixels_of(data).middleRows(at, some), pass.state);
        const PixelMatrix hidden = hidden_of(entered, pass.state);
        set_product(hidden, matrix_in(pass.state, "fc2.weight").transpose(),
                    pixels_of(result).middleRows(at, some));
      });
    });
    return {{"embeddings", result}};
  }

  Gradients backward(const PassBack& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const Array& gradient = value_at(pass.gradients, "embeddings");
    const auto first_weights = matrix_in(pass.state, "fc1.weight");
    const auto second_weights = matrix_in(pass.state, "fc2.weight");
    Array of_data = pass.goes_further ? with_channels(data, channels_in(data)) : Array();
    const MatrixSums zero{{PixelMatrix::Zero(first_weights.rows(), first_weights.cols()),
                           PixelMatrix::Zero(1, first_weights.rows()),
                           PixelMatrix::Zero(second_weights.rows(), second_weights.cols())}};
    const auto add_few = [&](std::int64_t at, std::int64_t some, MatrixSums& sum) {
      const auto pixels = pixels_of(data).middleRows(at, some);
      const auto of_embeddings = pixels_of(gradient).middleRows(at, some);
      const PixelMatrix entered = entrance(pixels, pass.state);
      const PixelMatrix hidden = hidden_of(entered, pass.state);
      PixelMatrix of_hidden = product_of(of_embeddings, second_weights);
      of_hidden = (hidden.array() > 0).select(of_hidden, 0.0F);
      add_crossed(of_hidden, entered, sum.each[0]);
      sum.each[1] += of_hidden.colwise().sum();
      add_crossed(of_embeddings, hidden, sum.each[2]);
      if (pass.goes_further)
        pixels_of(of_data).middleRows(at, some) =
            behind_features(product_of(of_hidden, first_weights), pixels, pass.state);
    };
    const MatrixSums sums =
        sum_over_parts(pixels_in(data), zero, [&](std::int64_t first, std::int64_t count, MatrixSums& sum) {
          few_by_few(first, count, [&](std::int64_t at, std::int64_t some) { add_few(at, some, sum); });
        });
    Gradients found;
    if (pass.goes_further) found.inputs["data"] = of_data;
    found.state = {
        {"fc1.weight", from_matrix_of_floats(sums.each[0], {first_weights.rows(), first_weights.cols()})},
        {"fc1.bias", from_matrix_of_floats(sums.each[1], {first_weights.rows()})},
        {"fc2.weight", from_matrix_of_floats(sums.each[2], {second_weights.rows(), second_weights.cols()})}};
    return found;
  }

 private:
  static Array drawn(Shape shape, double bound, std::uint64_t seed, std::uint64_t which) {
    Array array(DType::float32, std::move(shape));
    const RandomKey key = random_key(seed, Purpose::initialise, which);
    std::uint32_t index = 0;
    for (float& each : array.as<float>()) each = static_cast<float>(bound * (2 * uniform(key, index++) - 1));
    return array;
  }

  float feature_scale() const {
    return static_cast<float>(std::sqrt(2 / static_cast<double>(settings_.n_rff)));
  }

  template <class Pixels>
  static PixelMatrix phases_of(const Pixels& pixels, const NamedArrays& state) {
    PixelMatrix phases = product_of(pixels, matrix_in(state, "rff.weight").transpose());
    phases.rowwise() += matrix_in(state, "rff.phase").row(0);
    return phases;
  }

  template <class Pixels>
  PixelMatrix entrance(const Pixels& pixels, const NamedArrays& state) const {
    if (settings_.kernel == SvddKernel::linear) return pixels;
    return phases_of(pixels, state).array().cos() * feature_scale();
  }

  // How a loss changes with pixels, given how it changes with what enters the network for them.
  template <class Pixels>
  PixelMatrix behind_features(const PixelMatrix& of_entered, const Pixels& pixels,
                              const NamedArrays& state) const {
    if (settings_.kernel == SvddKernel::linear) return of_entered;
    const PixelMatrix of_phases =
        of_entered.array() * -phases_of(pixels, state).array().sin() * feature_scale();
    return product_of(of_phases, matrix_in(state, "rff.weight"));
  }

  static PixelMatrix hidden_of(const PixelMatrix& entered, const NamedArrays& state) {
    PixelMatrix hidden = product_of(entered, matrix_in(state, "fc1.weight").transpose());
    hidden.rowwise() += matrix_in(state, "fc1.bias").row(0);
    return hidden.cwiseMax(0.0F);
  }
};

}  // namespace

NodeType deep_svdd_projection() {
  return type_of<DeepSvddProjection>("DeepSVDDProjection", NodeKind::stateless,
                                     "Embeds pixels by a small network that may be trained");
}

}  // namespace stoker::nodes
