#include "pipeline/rows_to_come.h"

#include <algorithm>

#include "pipeline/graph.h"

namespace stoker {
std::vector<Connection> tests_of_model(const Document& document, const std::set<std::string>& running,
                                       const std::string& training_card) {
  std::vector<Connection> tests;
  for (const Card& card : document.cards) {
    const Input* model = input_of_type(*card.kind, PortType::model);
    const Input* test = input_of_rows(*card.kind, Rows::tested_on);
    if (!running.contains(card.id) || model == nullptr || test == nullptr) continue;
    const auto models = connections_to(card, model->name);
    if (std::ranges::find(models, training_card, &Connection::card) == models.end()) continue;
    for (const Connection& each : connections_to(card, test->name)) tests.push_back(each);
  }
  return tests;
}

std::vector<std::string> columns_learnt_as_text(const Card& card, const InputValues& inputs) {
  std::vector<std::string> columns;
  const Input* model = input_of_type(*card.kind, PortType::model);
  const auto models = model == nullptr ? inputs.end() : inputs.find(model->name);
  if (models == inputs.end()) return columns;
  for (const PortValue& value : models->second)
    for (std::string& name : std::get<std::shared_ptr<const Model>>(value)->preparation.text_columns())
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(std::move(name));
  return columns;
}

Table in_learnt_types(const Table& table, const std::vector<std::string>& learnt_as_text,
                      const Document& document, const Connection& connection,
                      const std::map<std::string, Outside>& outside) {
  const std::vector<std::string> mistaken = columns_not_text(table, learnt_as_text);
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
