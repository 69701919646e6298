#include "pipeline/card/card_inputs.h"

#include "data/windows/join_as_of.h"
#include "pipeline/run/rows_to_come.h"

namespace stoker {

InputValues CardInputs::of(const Card& card) const {
  InputValues inputs;
  for (const Connection& connection : card.inputs) inputs[connection.input].push_back(at(connection));
  const std::vector<std::string> texts = columns_learnt_as_text(card, inputs);
  const DateForms dates = dates_learnt(card, inputs);
  const std::vector<std::string> joined_names = joined_names_learnt(card, inputs);
  for (auto& [name, values] : inputs) {
    const auto connections = connections_to(card, name);
    const bool are_joined = find_port(card.kind->inputs, name)->rows == Rows::joined;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Table* table = std::get_if<Table>(&values[i]);
      if (table == nullptr) continue;
      if (!are_joined) {
        *table = in_learnt_types(*table, texts, dates, document_, connections[i], outside_);
      } else if (i < joined_names.size()) {  // of more than the model knows, the card says so
        const std::string& own = joined_names[i];
        *table = in_learnt_types(*table, names_in_slower(own, texts), forms_in_slower(own, dates), document_,
                                 connections[i], outside_);
      }
    }
  }
  return inputs;
}

std::vector<Table> CardInputs::tests_of(const Card& training) const {
  std::vector<Table> tables;
  for (const Connection& test : tests_of_model(document_, running_, training.id))
    if (outputs_.are_there(test.card)) tables.push_back(std::get<Table>(at(test)));
  return tables;
}

}  // namespace stoker
