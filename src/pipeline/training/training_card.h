#pragma once

#include <optional>
#include <vector>

#include "pipeline/card/card.h"
#include "pipeline/document/document.h"

// What a document says of a card that trains, before anything runs.
namespace stoker {

bool trains(const Card& card);
const Connection& rows_to_train_on(const Card& card);
const Connection& model_to_train(const Card& card);
// None where the settings of a card do not say it alone.
std::optional<ModelSpec> spec_to_train(const Document& document, const Card& card);
// Whether the model that the card defines is trained as an ensemble alone, whose members have validation rows
// of their own.
bool is_only_in_ensembles(const std::vector<Card>& cards, const Card& definition);

}  // namespace stoker
