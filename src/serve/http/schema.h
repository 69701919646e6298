#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

// Schemas of answers, to be written as people would draw them. One with a title stands once in the OpenAPI
// document, under that title, whoever answers with it.
namespace stoker::serve::schema {

inline nlohmann::json of_type(const char* type, const std::string& help) {
  nlohmann::json schema{{"type", type}};
  if (!help.empty()) schema["description"] = help;
  return schema;
}
inline nlohmann::json text(const std::string& help = "") {
  return of_type("string", help);
}
inline nlohmann::json whole(const std::string& help = "") {
  return of_type("integer", help);
}
inline nlohmann::json number(const std::string& help = "") {
  return of_type("number", help);
}
// A number that may be none, because it was not finite.
inline nlohmann::json number_or_null(const std::string& help = "") {
  nlohmann::json schema = number(help);
  schema["type"] = {"number", "null"};
  return schema;
}
inline nlohmann::json list_of(nlohmann::json items, const std::string& help = "") {
  nlohmann::json schema = of_type("array", help);
  schema["items"] = std::move(items);
  return schema;
}
// A map whose keys are not known before.
inline nlohmann::json map_of(nlohmann::json values, const std::string& help = "") {
  nlohmann::json schema = of_type("object", help);
  schema["additionalProperties"] = std::move(values);
  return schema;
}
template <class Names>
nlohmann::json one_of(const Names& names, const std::string& help = "") {
  nlohmann::json schema = text(help);
  schema["enum"] = nlohmann::json::array();
  for (const auto& name : names)
    if (!name.empty()) schema["enum"].push_back(name);
  return schema;
}

using Properties = std::initializer_list<std::pair<std::string, nlohmann::json>>;
// What is always there, and what is there where it is known.
inline nlohmann::json object(const std::string& title, Properties always, Properties sometimes = {}) {
  nlohmann::json schema{{"type", "object"}, {"properties", nlohmann::json::object()}};
  if (!title.empty()) schema["title"] = title;
  for (const auto& [name, property] : always) {
    schema["properties"][name] = property;
    schema["required"].push_back(name);
  }
  for (const auto& [name, property] : sometimes) schema["properties"][name] = property;
  return schema;
}

}  // namespace stoker::serve::schema
