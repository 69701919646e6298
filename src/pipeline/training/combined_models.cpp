#include "pipeline/training/combined_models.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text/text.h"
#include "model/family.h"
#include "pipeline/card/card.h"
#include "pipeline/cards/train_settings.h"
#include "pipeline/training/training_card.h"

namespace stoker {
namespace {

// What a training will make, as its document tells it.
struct ModelToCome {
  std::string card;
  std::string target;
  bool reads_windows = false;
  std::optional<double> quantile = {};
};

const Card* card_with(const std::vector<Card>& cards, const std::string& id) {
  const auto found = std::ranges::find(cards, id, &Card::id);
  return found == cards.end() ? nullptr : &*found;
}

std::optional<ModelToCome> model_of(const std::vector<Card>& cards, const Card& training) {
  const Card* definition = card_with(cards, model_to_train(training).card);
  if (definition == nullptr || definition->kind->spec == nullptr) return std::nullopt;
  const ModelSpec spec = definition->kind->spec(definition->config);
  ModelToCome model{training.id, training.kind->training(training.config).preparation.target_column};
  model.reads_windows = form_of(family_of(spec), spec.settings).reads_windows;
  if (!spec.is_solved()) model.quantile = quantile_of(spec.training);
  return model;
}

// Of all trainings that the model at a connection is made of.
void add_models(const std::vector<Card>& cards, const Connection& connection, std::vector<const Card*>& met,
                std::vector<ModelToCome>& models) {
  const Card* source = card_with(cards, connection.card);
  if (source == nullptr || std::ranges::find(met, source) != met.end()) return;
  met.push_back(source);
  if (trains(*source)) {
    if (auto model = model_of(cards, *source)) models.push_back(std::move(*model));
    return;
  }
  const Input* combined = input_of_type(*source->kind, PortType::model);
  if (combined == nullptr) return;
  for (const Connection& each : connections_to(*source, combined->name)) add_models(cards, each, met, models);
}

// "" where both can be one.
std::string difference_of(const ModelToCome& first, const ModelToCome& other) {
  if (first.target != other.target)
    return fmt::format(
        "the card {} predicts '{}' and {} predicts '{}'; only models of the same target can be combined",
        first.card, first.target, other.card, other.target);
  if (first.reads_windows != other.reads_windows)
    return fmt::format(
        "the model of {} reads windows and that of {} plain columns; only models of the same rows can "
        "be combined",
        (first.reads_windows ? first : other).card, (first.reads_windows ? other : first).card);
  if (first.quantile != other.quantile)
    return fmt::format("the models of {} and {} do not predict the same quantile; only such can be combined",
                       first.card, other.card);
  return "";
}

void check_card(const std::vector<Card>& cards, const Card& card, config::Diagnostics& diagnostics) {
  const Input* input = input_of_type(*card.kind, PortType::model);
  const auto connected = connections_to(card, input->name);
  const std::string path = fmt::format("cards.{}.inputs.{}", card.id, input->name);
  if (connected.size() == 1)
    diagnostics.add(connected.front().line, path, "there is one model to combine; connect two or more");
  const std::size_t weights = card.kind->weights_given(card.config);
  if (weights > 0 && weights != connected.size())
    diagnostics.add(card.line, fmt::format("cards.{}.config.weights", card.id),
                    fmt::format("there are {} and {}; give each model one",
                                counted(connected.size(), "model"), counted(weights, "weight")));
  std::vector<ModelToCome> models;
  std::vector<const Card*> met{&card};
  for (const Connection& each : connected) add_models(cards, each, met, models);
  for (std::size_t i = 1; i < models.size(); ++i) {
    if (std::string difference = difference_of(models.front(), models[i]); !difference.empty()) {
      diagnostics.add(connected.front().line, path, std::move(difference));
      return;
    }
  }
}

}  // namespace

void check_combined_models(const std::vector<Card>& cards, config::Diagnostics& diagnostics) {
  for (const Card& card : cards)
    if (card.kind->weights_given != nullptr) check_card(cards, card, diagnostics);
}

}  // namespace stoker
