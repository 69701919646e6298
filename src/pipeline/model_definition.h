#pragma once

#include "config/field.h"
#include "train/fit.h"

// The settings of the cards that define a model, and the specification that they stand for.
namespace stoker {

struct LinearDefinition {
  LinearKind model_type = LinearKind::linear_regression;
  config::Value hyperparameters{config::Value::Map{}};
};
inline config::Fields fields(LinearDefinition& c) {
  return {
      config::field("model_type", c.model_type, "Family of the model"),
      config::field("hyperparameters", c.hyperparameters, "Settings of that family; see the tables below"),
  };
}

struct NetworkDefinition {
  NetworkKind model_type = NetworkKind::neural_network;
  NetworkConfig network;
};
config::Fields fields(NetworkDefinition& c);

// Check the settings of a card; the specification that comes back has every default in place.
LinearSpec read_linear(const config::Value& config, const std::string& path,
                       config::Diagnostics& diagnostics);
NetworkSpec read_network(const config::Value& config, const std::string& path,
                         config::Diagnostics& diagnostics);

// The settings that give this specification again, with every default written out.
config::Value settings_of(const LinearSpec& spec);
config::Value settings_of(const NetworkSpec& spec);

nlohmann::json spec_to_json(const ModelSpec& spec);
ModelSpec spec_from_json(const nlohmann::json& json);  // refuses what is not one

}  // namespace stoker
