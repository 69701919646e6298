#include "pipeline/card/card.h"

#include <algorithm>

namespace stoker {
namespace {

template <class Item, class Fits>
const Item* first_of(const std::vector<Item>& items, Fits fits) {
  const auto found = std::find_if(items.begin(), items.end(), fits);
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const CardType* find_card_type(const CardTypes& types, const std::string& name) {
  return first_of(types, [&](const CardType& type) { return type.name == name; });
}

std::vector<std::string> type_names(const CardTypes& types) {
  std::vector<std::string> names;
  for (const CardType& type : types) names.push_back(type.name);
  return names;
}

std::span<const Connection> connections_to(const Card& card, const std::string& input) {
  const auto [first, last] = std::ranges::equal_range(card.inputs, input, {}, &Connection::input);
  return {first, last};
}

std::string port_text(const Input& input) {
  const std::string type(config::name_of(input.type));
  switch (input.takes) {
    case Takes::one:
      return type;
    case Takes::at_most_one:
      return type + ", optional";
    case Takes::at_least_one:
      return type + ", one or more";
    case Takes::any_number:
      break;
  }
  return type + ", any number";
}

std::string port_text(const Output& output) {
  return std::string(config::name_of(output.type));
}

const Output* output_to_keep(const CardType& type, Keep keep) {
  return first_of(type.outputs, [&](const Output& output) { return output.keep == keep; });
}

const Input* input_of_rows(const CardType& type, Rows rows) {
  return first_of(type.inputs, [&](const Input& input) { return input.rows == rows; });
}

const Input* input_of_type(const CardType& type, PortType wanted) {
  return first_of(type.inputs, [&](const Input& input) { return input.type == wanted; });
}

}  // namespace stoker
