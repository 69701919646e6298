#include "pipeline/training/training_card.h"

#include <algorithm>

namespace stoker {

bool trains(const Card& card) {
  return card.kind->training != nullptr;
}

const Connection& rows_to_train_on(const Card& card) {
  return connections_to(card, input_of_rows(*card.kind, Rows::trained_on)->name).front();
}

const Connection& model_to_train(const Card& card) {
  return connections_to(card, input_of_type(*card.kind, PortType::model_spec)->name).front();
}

bool is_only_in_ensembles(const std::vector<Card>& cards, const Card& definition) {
  bool any = false;
  for (const Card& card : cards) {
    if (card.kind == nullptr || !trains(card)) continue;
    const std::span<const Connection> models =
        connections_to(card, input_of_type(*card.kind, PortType::model_spec)->name);
    const bool is_its_model = std::ranges::any_of(
        models, [&](const Connection& connection) { return connection.card == definition.id; });
    if (!is_its_model) continue;
    if (!card.kind->training(card.config).fit.ensemble.is_wanted()) return false;
    any = true;
  }
  return any;
}

std::optional<ModelSpec> spec_to_train(const Document& document, const Card& card) {
  const Card& definition = card_named(document, model_to_train(card).card);
  if (definition.kind->spec == nullptr) return std::nullopt;
  return definition.kind->spec(definition.config);
}

}  // namespace stoker
