#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "pipeline/card/card.h"
#include "pipeline/document/document.h"
#include "pipeline/document/document_keys.h"
#include "pipeline/run/space.h"

namespace stoker {
namespace {

using nlohmann::json;

json sweep_schema() {
  SweepConfig config;
  json schema = config::json_schema(fields(config));
  schema.erase("$schema");
  return schema;
}

// {grid: […]} and the like.
json search_schema() {
  json kinds = json::array();
  for (const std::string_view name : config::names<SearchKind>) {
    const bool is_list = name == "grid" || name == "choice";
    json values{{"type", "array"}, {"minItems", is_list ? 1 : 2}};
    if (!is_list) values.update({{"maxItems", 2}, {"items", {{"type", "number"}}}});
    kinds.push_back({{"type", "object"},
                     {"properties", {{std::string(name), std::move(values)}}},
                     {"required", {name}},
                     {"additionalProperties", false}});
  }
  return {{"oneOf", std::move(kinds)}, {"description", "Values that `stoker sweep` tries"}};
}

json settings_schema(const CardType& type) {
  const config::Described settings = type.describe();
  json schema = config::json_schema(settings.fields);
  schema.erase("$schema");
  if (!can_be_searched(type)) return schema;
  for (const config::Field& setting : settings.fields) {
    if (!can_be_searched(setting)) continue;
    json& property = schema["properties"][setting.name];
    json either{{"anyOf", json::array({property, {{"$ref", "#/$defs/search"}}})}};
    for (const char* key : {"description", "default"})
      if (property.contains(key)) either[key] = property[key];
    property = std::move(either);
  }
  return schema;
}

json inputs_schema(const CardType& type) {
  const json connection{{"type", "string"}, {"pattern", "^[A-Za-z0-9_][A-Za-z0-9_-]*[.][a-z_]+$"}};
  json properties = json::object();
  json required = json::array();
  for (const Input& input : type.inputs) {
    json& property = properties[input.name] = connection;
    if (takes_several(input.takes))
      property = {
          {"anyOf", json::array({connection, {{"type", "array"}, {"items", connection}, {"minItems", 1}}})}};
    property["description"] = fmt::format("{} ({})", input.help, port_text(input));
    if (must_be_connected(input.takes)) required.push_back(input.name);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

json when_type_is(const CardType& type) {
  const json settings = settings_schema(type);
  const json inputs = inputs_schema(type);
  json then{{"properties", {{"inputs", inputs}, {"config", settings}}}};
  then["required"] = json::array();
  if (!inputs.at("required").empty()) then["required"].push_back("inputs");
  if (!settings.at("required").empty()) then["required"].push_back("config");
  return {{"if", {{"properties", {{"type", {{"const", type.name}}}}}}}, {"then", std::move(then)}};
}

json card_schema(const CardTypes& types) {
  CardKeys keys;
  json schema = config::json_schema(fields(keys));
  schema.erase("$schema");
  json cases = json::array();
  for (const CardType& type : types) cases.push_back(when_type_is(type));
  schema["properties"]["type"]["enum"] = type_names(types);
  schema["allOf"] = std::move(cases);
  return schema;
}

}  // namespace

json document_schema(const CardTypes& types) {
  DocumentKeys keys;
  json schema = config::json_schema(fields(keys));
  schema["title"] = "Stoker pipeline";
  schema["properties"]["version"] = {{"enum", {oldest_document_version, document_version}},
                                     {"description", "Version of the document format"}};
  schema["properties"]["sweep"] = sweep_schema();
  schema["$defs"]["search"] = search_schema();
  json& cards = schema["properties"]["cards"];
  cards["minProperties"] = 1;
  cards["maxProperties"] = most_cards;
  cards["propertyNames"] = {{"pattern", "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$"}};
  cards["additionalProperties"] = card_schema(types);
  schema["properties"]["layout"]["additionalProperties"] = {
      {"type", "array"}, {"items", {{"type", "number"}}}, {"minItems", 2}, {"maxItems", 2}};
  return schema;
}

}  // namespace stoker
