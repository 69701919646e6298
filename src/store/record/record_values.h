#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "config/field.h"
#include "database/writable.h"

// How values of the house stand in the texts of rows on record.
namespace stoker {

inline std::int64_t whole_in(const database::WrittenValue& text) {
  std::int64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

inline double number_in(const database::WrittenValue& text) {
  double number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

inline database::WrittenValue or_null(const std::string& text) {
  return text.empty() ? std::nullopt : database::WrittenValue(text);
}

inline std::string dumped(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class Enum>
Enum named_or_first(const database::WrittenValue& text) {
  const auto& names = config::names<Enum>;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text.value_or("") == names[i]) return static_cast<Enum>(i);
  return Enum{};
}

template <class Enum>
std::string text_of_enum(Enum value) {
  return std::string(config::name_of(value));
}

}  // namespace stoker
