#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "config/usual_bounds.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {

enum class SelectorBegins : std::uint8_t { uniform, variance };

}  // namespace stoker::nodes

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::nodes::SelectorBegins>{
    "uniform", "variance"};

namespace stoker::nodes {
namespace {

struct SelectorSettings {
  std::int64_t n_select = 3;
  std::int64_t input_channels = 0;
  SelectorBegins init_method = SelectorBegins::uniform;
  double temperature_init = 5;
  double temperature_min = 0.1;
  double temperature_decay = 0.9;
  bool hard = false;
  double eps = 1e-6;
};

config::Fields fields(SelectorSettings& s) {
  return {
      config::field("n_select", s.n_select, "What the weights of all channels sum to")
          .within(1, config::widest_layer)
          .required(),
      channel_count_field("input_channels", s.input_channels),
      config::field("init_method", s.init_method,
                    "uniform: all alike; variance: by the logarithm of each channel's variance"),
      config::field("temperature_init", s.temperature_init, "Temperature of the first epoch")
          .above(0)
          .within(0, 1e6),
      config::field("temperature_min", s.temperature_min, "Temperature that it never falls below")
          .above(0)
          .within(0, 1e6),
      config::field("temperature_decay", s.temperature_decay, "Factor of the temperature from epoch to epoch")
          .within(0, 1),
      config::field("hard", s.hard, "Outside of training, the n_select largest count 1 and all others 0"),
      config::field("eps", s.eps, "Added to a variance before its logarithm is taken")
          .above(0)
          .within(0, config::largest_eps)};
}

class SoftChannelSelector final : public NodeWith<SelectorSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "Channels to weigh")}; }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.input_channels, "input_channels", connected);
    const std::int64_t channels = connected[0].shape.back();
    if (channels >= 0 && settings_.n_select > channels)
      refuse("n_select is {}, but only {} channels come in", settings_.n_select, channels);
    return {{"selected", DType::float32, connected[0].shape, "Each channel times its weight"},
            {"weights", DType::float32, {channels}, "The weights, which sum to n_select"}};
  }
  Asks asks() const override {
    return settings_.init_method == SelectorBegins::variance ? Asks::moments : Asks::nothing;
  }
  std::vector<std::string> trainable() const override { return {"channel_logits"}; }

  NamedArrays begin(const Ports& connected, const Known& known) const override {
    std::vector<double> logits(static_cast<std::size_t>(connected[0].shape.back()));
    if (settings_.init_method == SelectorBegins::variance)
      for (std::size_t i = 0; i < logits.size(); ++i)
        logits[i] = std::log(known.statistics->squares[i] / std::max(1.0, known.statistics->rows - 1) +
                             settings_.eps);
    return {{"channel_logits", numbers({static_cast<std::int64_t>(logits.size())}, logits)},
            {"temperature", one_number(settings_.temperature_init)}};
  }

  void begin_epoch(std::int64_t epoch, NamedArrays& state) const override {
    const double fallen =
        settings_.temperature_init * std::pow(settings_.temperature_decay, static_cast<double>(epoch));
    for (NamedArray& each : state)
      if (each.name == "temperature") each.array = one_number(std::max(settings_.temperature_min, fallen));
  }

  std::optional<Affine> affine(const NamedArrays& state) const override {
    const Eigen::VectorXd weights = weights_of(state, settings_.hard);
    return affine_of_channels({weights.data(), weights.data() + weights.size()},
                              std::vector<double>(static_cast<std::size_t>(weights.size())));
  }

  bool is_affine_in_training() const override { return !settings_.hard; }

  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const Eigen::VectorXd weights = weights_of(pass.state, settings_.hard && pass.stage != Stage::train);
    const Eigen::RowVectorXf factors = weights.cast<float>().transpose();
    Array selected = with_channels(data, channels_in(data));
    each_part(pixels_in(data), [&](std::int64_t first, std::int64_t count) {
      pixels_of(selected).middleRows(first, count) =
          pixels_of(data).middleRows(first, count).array().rowwise() * factors.array();
    });
    return {{"selected", selected},
            {"weights",
             numbers({channels_in(data)}, {weights.data(), static_cast<std::size_t>(weights.size())})}};
  }

  // Through the weights as they are in training, soft.
  Gradients backward(const PassBack& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const Eigen::VectorXd weights = weights_of(pass.state, false);
    Eigen::VectorXd of_weights = Eigen::VectorXd::Zero(weights.size());
    Gradients found;
    if (const Array* gradient = value_if(pass.gradients, "selected")) {
      const Eigen::RowVectorXf factors = weights.cast<float>().transpose();
      Array of_data = pass.goes_further ? with_channels(data, channels_in(data)) : Array();
      of_weights += sum_over_parts(pixels_in(data), of_weights,
                                   [&](std::int64_t first, std::int64_t count, Eigen::VectorXd& sum) {
                                     Eigen::RowVectorXf of_few(sum.size());
                                     few_by_few(first, count, [&](std::int64_t at, std::int64_t some) {
                                       of_few.setZero();
                                       for (std::int64_t pixel = at; pixel < at + some; ++pixel) {
                                         const auto given = pixels_of(*gradient).row(pixel);
                                         if (pass.goes_further)
                                           pixels_of(of_data).row(pixel) = given.cwiseProduct(factors);
                                         of_few += given.cwiseProduct(pixels_of(data).row(pixel));
                                       }
                                       sum += of_few.cast<double>().transpose();
                                     });
                                   });
      if (pass.goes_further) found.inputs["data"] = of_data;
    }
    if (const Array* gradient = value_if(pass.gradients, "weights"))
      for (Eigen::Index i = 0; i < weights.size(); ++i)
        of_weights[i] += static_cast<double>(gradient->as<float>()[static_cast<std::size_t>(i)]);
    const double temperature = number_in(find_array(pass.state, "temperature"));
    const double mean = weights.dot(of_weights) / static_cast<double>(settings_.n_select);
    const Eigen::VectorXd of_logits = (weights.array() * (of_weights.array() - mean) / temperature).matrix();
    found.state.push_back(
        {"channel_logits",
         numbers({weights.size()}, {of_logits.data(), static_cast<std::size_t>(of_logits.size())})});
    return found;
  }

 private:
  Eigen::VectorXd weights_of(const NamedArrays& state, bool hard) const {
    const Eigen::VectorXd logits = matrix_in(state, "channel_logits").row(0).transpose().cast<double>();
    if (hard) {
      std::vector<Eigen::Index> order(static_cast<std::size_t>(logits.size()));
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](Eigen::Index a, Eigen::Index b) { return logits[a] > logits[b]; });
      Eigen::VectorXd chosen = Eigen::VectorXd::Zero(logits.size());
      for (std::int64_t i = 0; i < settings_.n_select; ++i) chosen[order[static_cast<std::size_t>(i)]] = 1;
      return chosen;
    }
    const double temperature = number_in(find_array(state, "temperature"));
    const Eigen::VectorXd raised = ((logits.array() - logits.maxCoeff()) / temperature).exp().matrix();
    return raised * (static_cast<double>(settings_.n_select) / raised.sum());
  }
};

}  // namespace

NodeType soft_channel_selector() {
  return type_of<SoftChannelSelector>("SoftChannelSelector", NodeKind::statistical,
                                      "Weighs channels by a softmax that may be trained, ever sharper");
}

}  // namespace stoker::nodes
