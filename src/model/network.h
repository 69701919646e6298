#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/value.h"
#include "data/placement/dataset.h"

namespace stoker {

// What a model is before it has learnt anything: the one value that goes from the card through the engines to
// model.json.
struct Network {
  std::string family;      // a row of the table in model/family.h
  config::Value settings;  // the family's own, checked, every default written out
  std::vector<ArraySpec> inputs;
  std::int64_t outputs = 1;
};

// Part of model.json, of a checkpoint's identity and of what models that train side by side have in common.
nlohmann::json to_json(const Network& network);
// Refuses what is none; whether the family knows these settings is for the family to say.
Network network_from_json(const nlohmann::json& json);

// How many values a row has in its features.
std::int64_t feature_width(const std::vector<ArraySpec>& inputs);
inline std::int64_t feature_width(const Network& network) {
  return feature_width(network.inputs);
}

}  // namespace stoker
