#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/preparation.h"
#include "device/array.h"
#include "model/family.h"

namespace stoker {

// A trained model: everything that a prediction needs, and nothing else.
struct Model {
  Network network;
  Preparation preparation;
  NamedArrays parameters;
  std::optional<double> alpha = std::nullopt;  // linear models with a penalty: the one used

  const std::string& type() const { return network.family; }  // "ridge", "neural_network", …
};

// model/ of a run folder: model.safetensors and model.json. Saved as a whole or not at all.
void save_model(const Model& model, const std::filesystem::path& folder);
// Refuses a folder with a missing, truncated or foreign file, or whose files do not fit each other.
Model load_model(const std::filesystem::path& folder);

}  // namespace stoker
