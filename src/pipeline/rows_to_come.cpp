#include "pipeline/rows_to_come.h"

#include "pipeline/graph.h"

namespace stoker {
std::vector<Connection> tests_of_model(const Document& document, const std::set<std::string>& running,
                                       const std::string& training_card) {
  std::vector<Connection> tests;
  for (const Card& card : document.cards) {
    const Input* model = input_of_type(*card.kind, PortType::model);
    const Input* test = input_of_rows(*card.kind, Rows::tested_on);
    if (!running.contains(card.id) || model == nullptr || test == nullptr) continue;
    if (card.inputs.at(model->name).card == training_card) tests.push_back(card.inputs.at(test->name));
  }
  return tests;
}

Table in_learnt_types(const Table& table, const Preparation& learnt, const Document& document,
                      const Connection& connection, const std::map<std::string, Outside>& outside) {
  const std::vector<std::string> mistaken = columns_not_text(table, learnt.text_columns());
  if (mistaken.empty()) return table;
  const Card& reader = *way_of_rows(document, connection).front();
  if (reader.kind->read_as_text == nullptr) return table;  // they were made here
  const std::optional<Table> again = reader.kind->read_as_text(outside.at(reader.id), mistaken);
  if (!again) return table;
  if (!table.source_rows) return *again;
  Table part = take_rows(*again, *table.source_rows);
  part.group_column = table.group_column;
  return part;
}

}  // namespace stoker
