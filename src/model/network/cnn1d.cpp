#include "model/network/cnn1d.h"

#include <algorithm>

#include <fmt/format.h>

namespace stoker {
namespace {

std::vector<ParameterSpec> cnn1d_parameters(const Network& network) {
  const auto settings = settings_as<Cnn1dSettings>(network.settings);
  const std::int64_t width = settings.hidden_size;
  const WindowShape window = window_shape(network);
  ParameterSpecs specs;
  if (norms_inputs(settings.layer_norm, window)) add_layer_norm("input_norm", window.columns, specs);
  add_linear("input", window.columns, width, specs);
  for (std::int64_t i = 0; i < settings.layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i);
    if (settings.layer_norm) add_layer_norm(layer + "norm", width, specs);
    add_convolution(layer + "first", width, width, settings.kernel_size, specs);
    add_convolution(layer + "second", width, width, settings.kernel_size, specs);
  }
  if (settings.layer_norm) add_layer_norm("norm", width, specs);
  add_sequence_end({width, network.outputs, settings.pooling, settings.layer_norm}, specs);
  return specs;
}

}  // namespace

// Beyond what any window holds, further apart is the same.
std::int64_t dilation_of(std::int64_t layer) {
  return std::int64_t{1} << std::min<std::int64_t>(layer, 32);
}

Family cnn1d() {
  return {.name = "cnn1d",
          .describe = config::described<Cnn1dSettings>,
          .parameters = cnn1d_parameters,
          .form = form_of_windows,
          .multiply_adds = multiply_adds_over_moments};
}

}  // namespace stoker
