#include "pipeline/training_card.h"

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

std::optional<ModelSpec> spec_to_train(const Document& document, const Card& card) {
  const Card& definition = card_named(document, model_to_train(card).card);
  if (definition.kind->spec == nullptr) return std::nullopt;
  return definition.kind->spec(definition.config);
}

}  // namespace stoker
