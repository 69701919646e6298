#include "config/json_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace stoker::config {
namespace {

using nlohmann::json;

constexpr std::size_t shortest_long_text = 1'000;

bool is_long_text(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().size() >= shortest_long_text;
}

bool has_long_text(const json& value) {
  return is_long_text(value) || (value.is_structured() && std::ranges::any_of(value, has_long_text));
}

// Nothing in it is to be escaped or replaced.
bool is_plain_text(const std::string& text) {
  return std::ranges::all_of(
      text, [](unsigned char c) { return c >= 0x20U && c < 0x7fU && c != '"' && c != '\\'; });
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_json(const json& value, std::string& text) {
  if (is_long_text(value) && is_plain_text(value.get_ref<const std::string&>())) {
    text += '"';
    text += value.get_ref<const std::string&>();
    text += '"';
  } else if (!value.is_structured() || !has_long_text(value)) {
    text += dumped(value);
  } else {
    text += value.is_object() ? '{' : '[';
    bool is_first = true;
    for (const auto& [key, each] : value.items()) {
      if (!is_first) text += ',';
      is_first = false;
      if (value.is_object()) text += dumped(key) + ':';
      append_json(each, text);
    }
    text += value.is_object() ? '}' : ']';
  }
}

}  // namespace

std::string json_text(const json& value) {
  std::string text;
  append_json(value, text);
  return text;
}

}  // namespace stoker::config
