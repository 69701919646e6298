#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/prepare/preparation.h"
#include "device/array.h"
#include "model/decision.h"
#include "model/family.h"
#include "model/linear/held_back.h"

namespace stoker {

constexpr std::size_t most_members = 1'000;
constexpr std::size_t most_stages = 1'000;

// A trained model: everything that a prediction needs, and what tells how far to trust it.
struct Model {
  Network network;
  Preparation preparation;
  NamedArrays parameters;
  std::optional<double> alpha = std::nullopt;  // linear models with a penalty: the one used
  // Of an ensemble, which has no parameters of its own and predicts the mean of what they predict. They may
  // be of several families; its network is that of one of them. Its preparation says what all have in common:
  // columns, task, classes.
  std::vector<Model> members = {};
  std::vector<double> weights = {};  // of the members, adding up to 1; none: all count the same
  // Where several ensembles were combined, how many members come from each, one behind the other: a row that
  // was held back in all of them was so by some members of each. None: they belong to one, or each is its
  // own.
  std::vector<std::size_t> parts = {};
  HeldBackRows held_back = {};  // of a member, or of a network that was watched on validation rows
  // Of numbers, trained for a quantile: the share of the rows that is to lie below what is predicted.
  std::optional<double> quantile = std::nullopt;
  std::vector<double> training_quantiles = {};  // that quantile of the training rows, for each step
  Decision decision = {};                       // of the whole, never of a member
  // Of a network whose classes arrived in stages: its parameters after each stage but the last.
  std::vector<NamedArrays> stages = {};
  // Where its outputs are computed, if its family has none of its own: the GPU that has just trained it. Not
  // kept with it.
  Device computed_on = Device::cpu();

  const std::string& type() const { return network.family; }  // "ridge", "neural_network", …
  bool is_ensemble() const { return !members.empty(); }
};

// Those whose predictions are averaged; a single model is its own only one.
std::span<const Model> members_of(const Model& model);

// How much a member counts; a single model counts all.
double weight_of_member(const Model& model, std::size_t member);

// How many members belong together, one behind the other: those of one ensemble stand for each other, each
// trained on other rows of the same table; of models that were combined each is a part of its own.
std::vector<std::size_t> parts_of(const Model& model);

// Of all members together. In a mixture of experts, those of the router and of the experts that live.
std::int64_t parameter_count(const Model& model);

// model/ of a run folder: model.safetensors and model.json; what was predicted of rows that were held back is
// in out_of_fold.safetensors of an ensemble, in validation.safetensors of one network. What it was after each
// stage but the last are models of their own in stages/1, stages/2, … Saved as a whole or not at all.
void save_model(const Model& model, const std::filesystem::path& folder);
// Refuses a folder with a missing, truncated or foreign file, or whose files do not fit each other.
// What it was after earlier stages is read where that is asked for: predictions need none of it.
Model load_model(const std::filesystem::path& folder, bool with_stages = false);

}  // namespace stoker
