#include "pipeline/rows_to_come.h"

namespace stoker {
namespace {

// The card that read the rows of which those at the connection are a part; null when they were made here.
const Card* reader_of(const Document& document, const Connection& connection) {
  const Card* card = &card_named(document, connection.card);
  while (card->type == "data_split") card = &card_named(document, card->inputs.at("dataset").card);
  return find_card_type(card->type)->read_as_text != nullptr ? card : nullptr;
}

}  // namespace

std::vector<Connection> tests_of_model(const Document& document, const std::set<std::string>& running,
                                       const std::string& training_card) {
  std::vector<Connection> tests;
  for (const Card& card : document.cards) {
    const auto model = card.inputs.find("trained_model");
    const auto test = card.inputs.find("test_dataset");
    if (model == card.inputs.end() || test == card.inputs.end()) continue;
    if (running.contains(card.id) && model->second.card == training_card) tests.push_back(test->second);
  }
  return tests;
}

Table in_learnt_types(const Table& table, const Preparation& learnt, const Document& document,
                      const Connection& connection, const std::map<std::string, Outside>& outside) {
  const std::vector<std::string> mistaken = columns_not_text(table, learnt.text_columns());
  if (mistaken.empty()) return table;
  const Card* reader = reader_of(document, connection);
  if (reader == nullptr) return table;
  const std::optional<Table> again =
      find_card_type(reader->type)->read_as_text(outside.at(reader->id), mistaken);
  if (!again) return table;
  if (!table.source_rows) return *again;
  Table part = take_rows(*again, *table.source_rows);
  part.group_column = table.group_column;
  return part;
}

}  // namespace stoker
