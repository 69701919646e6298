#include "model/residual_mlp.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"

namespace stoker {
namespace {

constexpr std::int64_t most_values_of_layer = std::int64_t{1} << 31;

void add_linear(const std::string& name, std::int64_t inputs, std::int64_t outputs,
                std::vector<ParameterSpec>& parameters) {
  if (inputs > most_values_of_layer / outputs)
    refuse("{}, {} x {}, is too large; the maximum is {} weights", name, outputs, inputs,
           most_values_of_layer);
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  parameters.push_back({.name = name + ".weight", .shape = {outputs, inputs}, .bound = bound});
  parameters.push_back({.name = name + ".bias", .shape = {outputs}, .bound = bound});
}

void add_norm(const std::string& name, std::int64_t width, std::vector<ParameterSpec>& parameters) {
  parameters.push_back({.name = name + ".weight", .shape = {width}, .value = 1});
  parameters.push_back({.name = name + ".bias", .shape = {width}});
  parameters.push_back({.name = name + ".running_mean", .shape = {width}, .is_trained = false});
  parameters.push_back(
      {.name = name + ".running_variance", .shape = {width}, .value = 1, .is_trained = false});
}

std::vector<ParameterSpec> residual_parameters(const Network& network) {
  const auto settings = settings_as<ResidualMlpSettings>(network.settings);
  std::vector<ParameterSpec> parameters;
  add_linear("first", feature_width(network), settings.width, parameters);
  for (std::int64_t i = 0; i < settings.blocks; ++i) {
    add_norm(fmt::format("blocks.{}.norm", i), settings.width, parameters);
    add_linear(fmt::format("blocks.{}.inner", i), settings.width, settings.block_width, parameters);
    add_linear(fmt::format("blocks.{}.outer", i), settings.block_width, settings.width, parameters);
  }
  add_norm("norm", settings.width, parameters);
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
