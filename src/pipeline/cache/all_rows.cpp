#include "pipeline/cache/all_rows.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "pipeline/card/card.h"
#include "pipeline/card/graph.h"
#include "pipeline/training/training_card.h"

namespace stoker {
namespace {

// From the rows as they are read to those that are trained on; the card that reads them aside.
std::vector<const Card*> cards_on_the_way(const Document& document, const std::string& training_card) {
  std::vector<const Card*> way = way_of_rows(document, rows_to_train_on(card_named(document, training_card)));
  way.erase(way.begin());
  return way;
}

// Cards that measure a model on rows, and those that need what these put out.
std::set<std::string> cards_of_tests(const Document& document) {
  std::set<std::string> tests;
  for (const Card& card : document.cards) {
    const Input* tested = input_of_rows(*card.kind, Rows::tested_on);
    const bool needs_one = std::ranges::any_of(
        card.inputs, [&](const Connection& connection) { return tests.contains(connection.card); });
    if (needs_one || (tested != nullptr && !connections_to(card, tested->name).empty()))
      tests.insert(card.id);
  }
  return tests;
}

}  // namespace

std::string problem_with_all_rows(const Document& document, const std::string& training_card) {
  const std::vector<const Card*> way = cards_on_the_way(document, training_card);
  if (way.empty()) return "nothing is held back from the training";
  for (const Card* card : way)
    if (card->kind->with_all_rows == nullptr)
      return fmt::format("the card '{}' cannot pass on all rows", card->id);
  return "";
}

Document trained_on_all_rows(const Document& document, const std::string& training_card) {
  std::set<std::string> on_the_way;
  for (const Card* card : cards_on_the_way(document, training_card)) on_the_way.insert(card->id);
  const std::set<std::string> tests = cards_of_tests(document);
  Document whole = document;
  whole.name += "-all-rows";
  std::erase_if(whole.cards, [&](const Card& card) { return tests.contains(card.id); });
  for (Card& card : whole.cards)
    if (on_the_way.contains(card.id)) card.config = card.kind->with_all_rows(card.config);
  if (auto* places = whole.layout.get_if<config::Value::Map>())
    std::erase_if(*places, [&](const config::Entry& entry) { return tests.contains(entry.key); });
  return whole;
}

}  // namespace stoker
