#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/described.h"
#include "train/fit/spec.h"

// The settings of the cards that define a model, and the specification that they stand for.
namespace stoker {

// A family that has a solver: model_type and, in a map of their own, its hyperparameters.
config::Described describe_solved();
ModelSpec read_solved(const config::Value& config, const std::string& path, config::Diagnostics& diagnostics);
std::vector<config::TitledSettings> settings_of_solved();  // the hyperparameters of each family

// A family that is trained by gradients: model_type, its own settings and those of the training, side by
// side. What is described are the settings of all such families; only those of the chosen one are read.
config::Described describe_trained();
ModelSpec read_trained(const config::Value& config, const std::string& path,
                       config::Diagnostics& diagnostics);
std::vector<config::TitledSettings> settings_of_trained();

// The settings that give this specification again, with every default written out.
config::Value settings_of(const ModelSpec& spec);

nlohmann::json spec_to_json(const ModelSpec& spec);
ModelSpec spec_from_json(const nlohmann::json& json);  // refuses what is not one

}  // namespace stoker
