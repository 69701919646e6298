#include <nlohmann/json.hpp>

#include "pipeline/card/card.h"
#include "serve/http/field_answers.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

// What the values of settings are names of, so that a form can offer them.
json names_in(const CardType& type) {
  json names = json::object();
  for (const std::string& setting : type.column_settings) names[setting] = "column";
  for (const std::string& setting : type.condition_settings) names[setting] = "condition";
  for (const std::string& setting : type.dataset_settings) names[setting] = "dataset";
  return names;
}

json only_with_of(const CardType& type) {
  json settings = json::object();
  for (const OnlyWith& each : type.only_with)
    settings[each.setting] = {{"setting", each.other}, {"values", each.values}};
  return settings;
}

// All that a canvas needs to show a card of this type, and a form for its settings.
json card_type_view(const CardType& type) {
  json view{{"name", type.name},
            {"version", type.version},
            {"title", type.title},
            {"help", type.help},
            {"inputs", json::array()},
            {"outputs", json::array()},
            {"trains", type.training != nullptr},
            {"settings", schema_of(type.describe().fields)},
            {"order", order_of(type.describe().fields)},
            {"names", names_in(type)},
            {"first", type.first_settings},
            {"only_with", only_with_of(type)},
            {"more_settings", json::array()}};
  for (const Input& input : type.inputs)
    view["inputs"].push_back({{"name", input.name},
                              {"type", config::name_of(input.type)},
                              {"help", input.help},
                              {"required", must_be_connected(input.takes)},
                              {"several", takes_several(input.takes)}});
  for (const Output& output : type.outputs)
    view["outputs"].push_back(
        {{"name", output.name}, {"type", config::name_of(output.type)}, {"help", output.help}});
  if (type.more_settings != nullptr)
    for (const config::TitledSettings& more : type.more_settings())
      view["more_settings"].push_back({{"title", more.title},
                                       {"settings", schema_of(more.settings.fields)},
                                       {"order", order_of(more.settings.fields)}});
  return view;
}

Response list_card_types() {
  json cards = json::array();
  for (const CardType& type : card_types()) cards.push_back(card_type_view(type));
  return json_response({{"cards", std::move(cards)}});
}

}  // namespace

std::vector<Route> card_routes() {
  return {
      {"GET",
       "/api/cards",
       "listCards",
       "Every type of card: its ports, and a JSON Schema of its settings",
       Access::viewer,
       [](Call&) { return list_card_types(); },
       {},
       nullptr,
       {},
       {{200, "Types of cards"}}},
      {"GET",
       "/api/documents/schema",
       "documentSchema",
       "JSON Schema of a whole document",
       Access::viewer,
       [](Call&) { return json_response(document_schema()); },
       {},
       nullptr,
       {},
       {{200, "A JSON Schema"}}},
  };
}

}  // namespace stoker::serve
