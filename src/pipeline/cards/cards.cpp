#include "pipeline/cards/cards.h"

#include <array>

namespace stoker {

// Every type of card, in the order in which a pipeline uses them.
std::span<const CardType> card_types() {
  static const std::array types{
      cards::data_load(), cards::data_split(), cards::model_define(), cards::model_define_gpu(),
      cards::train(),     cards::train_gpu(),  cards::evaluate(),     cards::inference(),
  };
  return types;
}

const CardType* find_card_type(const std::string& name) {
  for (const CardType& type : card_types()) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const Port* find_port(const std::vector<Port>& ports, const std::string& name) {
  for (const Port& port : ports) {
    if (port.name == name) return &port;
  }
  return nullptr;
}

std::vector<std::string> port_names(const std::vector<Port>& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

}  // namespace stoker
