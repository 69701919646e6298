#include "model/network/recurrent.h"

#include <cmath>

#include <fmt/format.h>

namespace stoker {
namespace {

void add_recurrent_layer(std::int64_t layer, std::int64_t inputs, std::int64_t gates,
                         const RecurrentSettings& settings, ParameterSpecs& specs) {
  const std::int64_t hidden = settings.hidden_size;
  const double bound = 1.0 / std::sqrt(static_cast<double>(hidden));
  for (std::int64_t direction = 0; direction < settings.directions(); ++direction) {
    const std::vector<std::string> names = recurrent_names(layer, direction == 1);
    const Shape shapes[]{
        {gates * hidden, inputs}, {gates * hidden, hidden}, {gates * hidden}, {gates * hidden}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      refuse_too_large(names[i], shapes[i]);
      specs.push_back({.name = names[i], .shape = shapes[i], .bound = bound});
    }
  }
}

template <std::int64_t gates>
std::vector<ParameterSpec> recurrent_parameters(const Network& network) {
  const auto settings = settings_as<RecurrentSettings>(network.settings);
  const WindowShape window = window_shape(network);
  ParameterSpecs specs;
  if (norms_inputs(settings.layer_norm, window)) add_layer_norm("input_norm", window.columns, specs);
  for (std::int64_t layer = 0; layer < settings.layers; ++layer)
    add_recurrent_layer(layer, layer == 0 ? window.columns : settings.width(), gates, settings, specs);
  if (settings.layer_norm) add_layer_norm("norm", settings.width(), specs);
  add_sequence_end({settings.width(), network.outputs, settings.pooling, settings.layer_norm}, specs);
  return specs;
}

}  // namespace

std::vector<std::string> recurrent_names(std::int64_t layer, bool is_reverse) {
  std::vector<std::string> names;
  for (const char* part : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
    names.push_back(fmt::format("recurrent.{}_l{}{}", part, layer, is_reverse ? "_reverse" : ""));
  return names;
}

Family lstm() {
  return {.name = "lstm",
          .describe = config::described<RecurrentSettings>,
          .parameters = recurrent_parameters<4>,
          .form = form_of_windows,
          .multiply_adds = multiply_adds_over_moments};
}

Family gru() {
  return {.name = "gru",
          .describe = config::described<RecurrentSettings>,
          .parameters = recurrent_parameters<3>,
          .form = form_of_windows,
          .multiply_adds = multiply_adds_over_moments};
}

}  // namespace stoker
