#include "pipeline/model_definition.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using config::Diagnostics;
using config::Value;

// What a deep network is when nobody says how deep.
const std::vector<std::int64_t> deep_hidden_layers{128, 64, 32, 16};

}  // namespace

config::Fields fields(NetworkDefinition& c) {
  config::Fields all{config::field("model_type", c.model_type,
                                   "Family of the model; hidden_layers of deep_neural_network are "
                                   "[128, 64, 32, 16] if not set")};
  for (config::Field& each : fields(c.network)) all.push_back(std::move(each));
  return all;
}

LinearSpec read_linear(const Value& config, const std::string& path, Diagnostics& diagnostics) {
  const auto definition = config::read<LinearDefinition>(config, path, diagnostics);
  LinearSpec spec{definition.model_type, {}};
  config::read_fields(linear_fields(spec.kind, spec.config), definition.hyperparameters,
                      path + ".hyperparameters", diagnostics);
  return spec;
}

NetworkSpec read_network(const Value& config, const std::string& path, Diagnostics& diagnostics) {
  auto definition = config::read<NetworkDefinition>(config, path, diagnostics);
  const bool is_deep = definition.model_type == NetworkKind::deep_neural_network;
  if (is_deep && config.find("hidden_layers") == nullptr)
    definition.network.hidden_layers = deep_hidden_layers;
  check(definition.network, path, diagnostics, &config);
  return {definition.model_type, definition.network};
}

Value settings_of(const LinearSpec& spec) {
  LinearConfig copy = spec.config;
  return config::write(LinearDefinition{spec.kind, config::write_fields(linear_fields(spec.kind, copy))});
}

Value settings_of(const NetworkSpec& spec) {
  return config::write(NetworkDefinition{spec.kind, spec.config});
}

nlohmann::json spec_to_json(const ModelSpec& spec) {
  const bool is_linear = std::holds_alternative<LinearSpec>(spec);
  const Value settings = std::visit([](const auto& each) { return settings_of(each); }, spec);
  return {{"family", is_linear ? "linear" : "network"}, {"settings", config::to_json(settings)}};
}

ModelSpec spec_from_json(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("settings")) refuse("this is no model specification");
  const Value settings = config::from_json(json.at("settings"));
  Diagnostics diagnostics("model specification");
  ModelSpec spec;
  if (json.value("family", "") == "linear") {
    spec = read_linear(settings, "settings", diagnostics);
  } else {
    spec = read_network(settings, "settings", diagnostics);
  }
  diagnostics.refuse_if_any();
  return spec;
}

}  // namespace stoker
