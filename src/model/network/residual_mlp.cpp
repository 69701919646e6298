#include "model/network/residual_mlp.h"

#include <fmt/format.h>

#include "model/network/layer_specs.h"

namespace stoker {
namespace {

std::vector<ParameterSpec> residual_parameters(const Network& network) {
  const auto settings = settings_as<ResidualMlpSettings>(network.settings);
  std::vector<ParameterSpec> parameters;
  add_linear("first", feature_width(network), settings.width, parameters);
  for (std::int64_t i = 0; i < settings.blocks; ++i) {
    add_batch_norm(fmt::format("blocks.{}.norm", i), settings.width, parameters);
    add_linear(fmt::format("blocks.{}.inner", i), settings.width, settings.block_width, parameters);
    add_linear(fmt::format("blocks.{}.outer", i), settings.block_width, settings.width, parameters);
  }
  add_batch_norm("norm", settings.width, parameters);
  add_linear("last", settings.width, network.outputs, parameters);
  return parameters;
}

}  // namespace

Family residual_mlp() {
  return {.name = "residual_mlp",
          .describe = config::described<ResidualMlpSettings>,
          .parameters = residual_parameters};
}

}  // namespace stoker
