#include "model/network/temporal_mlp.h"

#include <fmt/format.h>

#include "base/error.h"

namespace stoker {
namespace {

constexpr std::size_t most_temporal_layers = 1000;

std::vector<ParameterSpec> temporal_mlp_parameters(const Network& network) {
  const auto settings = settings_as<TemporalMlpSettings>(network.settings);
  const WindowShape window = window_shape(network);
  if (settings.moments > window.length)
    refuse(
        "temporal_mlp is to read the last {} moments of a window, which has {}; moments is the setting of "
        "the model, length that of the windows",
        settings.moments, window.length);
  std::int64_t width = settings.moments * window.columns;
  ParameterSpecs specs;
  add_batch_norm("input_norm", width, specs);
  for (std::size_t i = 0; i < settings.hidden_layers.size(); ++i) {
    add_linear(fmt::format("layers.{}.linear", i), width, settings.hidden_layers[i], specs);
    add_batch_norm(fmt::format("layers.{}.norm", i), settings.hidden_layers[i], specs);
    width = settings.hidden_layers[i];
  }
  add_linear("gate.inner", width, settings.gate_width(), specs);
  add_linear("gate.outer", settings.gate_width(), width, specs);
  add_linear("last", width, network.outputs, specs);
  return specs;
}

void check_temporal_mlp(const config::Value& settings, const std::string& path, const config::Value* written,
                        config::Diagnostics& diagnostics) {
  const std::size_t layers = settings_as<TemporalMlpSettings>(settings).hidden_layers.size();
  if (layers > most_temporal_layers)
    add_setting_error("hidden_layers",
                      fmt::format("{} layers are too many; the maximum is {}", layers, most_temporal_layers),
                      path, written, diagnostics);
}

}  // namespace

Family temporal_mlp() {
  return {.name = "temporal_mlp",
          .describe = config::described<TemporalMlpSettings>,
          .check = check_temporal_mlp,
          .parameters = temporal_mlp_parameters,
          .form = form_of_windows};
}

}  // namespace stoker
