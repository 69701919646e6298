#include <nlohmann/json.hpp>

#include "config/field.h"

namespace stoker::config {
namespace {

using nlohmann::json;

const char* json_type(FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return "boolean";
    case FieldType::integer:
    case FieldType::integers:
      return "integer";
    case FieldType::number:
    case FieldType::numbers:
      return "number";
    case FieldType::text:
    case FieldType::texts:
      return "string";
    case FieldType::groups:
      return "array";
    case FieldType::maps:
    case FieldType::map:
      return "object";
  }
  return "string";
}

// A whole number is written as one: 100000, not 100000.0.
json bound(const Field& field, double value) {
  const bool whole = field.type == FieldType::integer || field.type == FieldType::integers;
  return whole ? json(static_cast<std::int64_t>(value)) : json(value);
}

json item_schema(const Field& field) {
  if (field.type == FieldType::groups)
    return {{"type", "array"}, {"items", {{"type", json::array({"string", "number", "boolean"})}}}};
  json schema = {{"type", json_type(field.type)}};
  if (field.least) schema[field.above_least ? "exclusiveMinimum" : "minimum"] = bound(field, *field.least);
  if (field.most) schema[field.below_most ? "exclusiveMaximum" : "maximum"] = bound(field, *field.most);
  const bool whole = field.type == FieldType::integer || field.type == FieldType::integers;
  if (whole && !field.most && field.highest_integer < std::numeric_limits<std::int64_t>::max()) {
    schema["maximum"] = field.highest_integer;
  }
  if (!field.choices.empty()) schema["enum"] = field.choices;
  return schema;
}

json field_schema(const Field& field);

void add_properties(json& schema, const Fields& fields) {
  schema["properties"] = json::object();
  schema["required"] = json::array();
  for (const Field& field : fields) {
    schema["properties"][field.name] = field_schema(field);
    if (field.is_required) schema["required"].push_back(field.name);
    for (const OtherName& other : field.other_names)
      schema["properties"][other.name] = {{"description", other.note}, {"deprecated", true}};
  }
  schema["additionalProperties"] = false;
}

json field_schema(const Field& field) {
  json schema = item_schema(field);
  if (is_list(field.type)) {
    schema = {{"type", "array"}, {"items", std::move(schema)}};
    if (field.fewest) schema["minItems"] = *field.fewest;
  } else if (field.fewest && !field.is_optional) {
    schema["minLength"] = *field.fewest;
  }
  if (field.is_optional) {
    schema["type"] = json::array({schema["type"], "null"});
    if (schema.contains("enum")) schema["enum"].push_back(nullptr);
  }
  if (!field.word.empty()) schema = {{"anyOf", json::array({std::move(schema), {{"const", field.word}}})}};
  if (!field.inner.empty()) add_properties(schema, field.inner);
  schema["description"] = field.help;
  if (!field.is_required) schema["default"] = to_json(field.default_value);
  return schema;
}

}  // namespace

json json_schema(const Fields& fields) {
  json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"type", "object"}};
  add_properties(schema, fields);
  return schema;
}

}  // namespace stoker::config
