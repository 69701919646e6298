#include "pipeline/card_inputs.h"

#include "pipeline/rows_to_come.h"

namespace stoker {

InputValues CardInputs::of(const Card& card) const {
  InputValues inputs;
  for (const Connection& connection : card.inputs) inputs[connection.input].push_back(at(connection));
  const std::vector<std::string> texts = columns_learnt_as_text(card, inputs);
  const DateForms dates = dates_learnt(card, inputs);
  for (auto& [name, values] : inputs) {
    const auto connections = connections_to(card, name);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (Table* table = std::get_if<Table>(&values[i]))
        *table = in_learnt_types(*table, texts, dates, document_, connections[i], outside_);
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
