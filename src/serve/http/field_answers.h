#pragma once

#include <nlohmann/json.hpp>

#include "config/field.h"

namespace stoker::serve {

// What a form needs of settings: a JSON Schema, and their names as they were declared, the important ones
// first, since maps of JSON are sorted by name.

inline nlohmann::json schema_of(const config::Fields& fields) {
  nlohmann::json schema = config::json_schema(fields);
  schema.erase("$schema");
  return schema;
}

inline nlohmann::json order_of(const config::Fields& fields) {
  nlohmann::json names = nlohmann::json::array();
  for (const config::Field& field : fields) names.push_back(field.name);
  return names;
}

}  // namespace stoker::serve
