#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "database/writable.h"

// A row of the store as JSON, for the copy that is next to the files that the row describes.
namespace stoker {

// The names in "id, name, state".
inline std::vector<std::string> column_names(const std::string& columns) {
  std::vector<std::string> names = split_text(columns, ',');
  for (std::string& name : names) name.erase(0, name.find_first_not_of(' '));
  return names;
}

inline nlohmann::json row_json(const std::string& columns, const database::WrittenRow& values) {
  const std::vector<std::string> names = column_names(columns);
  nlohmann::json row = nlohmann::json::object();
  for (std::size_t i = 0; i < names.size() && i < values.size(); ++i)
    row[names[i]] = values[i] ? nlohmann::json(*values[i]) : nlohmann::json();
  return row;
}

// Columns that an earlier version did not write are NULL; those of a later one are skipped.
inline database::WrittenRow row_from_json(const std::string& columns, const nlohmann::json& row) {
  database::WrittenRow values;
  for (const std::string& name : column_names(columns)) {
    if (row.is_object() && row.contains(name) && row.at(name).is_string()) {
      values.emplace_back(row.at(name).get<std::string>());
    } else {
      values.emplace_back(std::nullopt);
    }
  }
  return values;
}

}  // namespace stoker
