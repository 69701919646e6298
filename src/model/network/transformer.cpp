#include "model/network/transformer.h"

#include <fmt/format.h>

#include "base/error.h"

namespace stoker {
namespace {

std::string heads_problem(const TransformerSettings& settings) {
  if (settings.hidden_size % settings.heads == 0) return "";
  return fmt::format("{} heads do not divide hidden_size, which is {}; each head takes an equal part of it",
                     settings.heads, settings.hidden_size);
}

std::vector<ParameterSpec> transformer_parameters(const Network& network) {
  const auto settings = settings_as<TransformerSettings>(network.settings);
  if (const std::string problem = heads_problem(settings); !problem.empty())
    refuse("transformer: {}", problem);
  const std::int64_t width = settings.hidden_size;
  ParameterSpecs specs;
  add_linear("input", window_shape(network).columns, width, specs);
  add_layer_norm("input_norm", width, specs);
  for (std::int64_t i = 0; i < settings.layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i);
    add_attention(layer + "self_attn", width, specs);
    add_linear(layer + "linear1", width, settings.feed_forward, specs);
    add_linear(layer + "linear2", settings.feed_forward, width, specs);
    add_layer_norm(layer + "norm1", width, specs);
    add_layer_norm(layer + "norm2", width, specs);
  }
  add_layer_norm("norm", width, specs);
  add_sequence_end({width, network.outputs, settings.pooling, true}, specs);
  return specs;
}

void check_transformer(const config::Value& settings, const std::string& path, const config::Value* written,
                       config::Diagnostics& diagnostics) {
  const std::string problem = heads_problem(settings_as<TransformerSettings>(settings));
  if (!problem.empty()) add_setting_error("heads", problem, path, written, diagnostics);
}

// Each moment is compared with each, and each takes from each.
std::int64_t transformer_multiply_adds(const Network& network) {
  const auto settings = settings_as<TransformerSettings>(network.settings);
  const std::int64_t length = window_shape(network).length;
  return multiply_adds_over_moments(network) + settings.layers * 2 * length * length * settings.hidden_size;
}

}  // namespace

Family transformer() {
  return {.name = "transformer",
          .describe = config::described<TransformerSettings>,
          .check = check_transformer,
          .parameters = transformer_parameters,
          .form = form_of_windows,
          .multiply_adds = transformer_multiply_adds};
}

}  // namespace stoker
