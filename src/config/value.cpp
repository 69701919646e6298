#include "config/value.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "config/quote.h"

namespace stoker::config {

// Here and not in the header: inlined into every user, they cost seconds of compiling in all.
Value::Value() = default;
// Copied by its content: the copy of a whole std::variant that runs out of memory in the middle destroys what
// it never made (libstdc++ 12, with contents that it takes for never valueless).
Value::Value(const Value& other) : line_(other.line_) {
  std::visit([this](const auto& content) { content_ = std::decay_t<decltype(content)>(content); },
             other.content_);
}
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) {
  if (this != &other) *this = Value(other);
  return *this;
}
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value::Value(Map value, int line) : content_(std::move(value)), line_(line) {}

std::string Value::describe() const {
  if (is_null()) return "nothing";
  if (const bool* flag = get_if<bool>()) return *flag ? "the value true" : "the value false";
  if (const std::int64_t* integer = get_if<std::int64_t>()) return fmt::format("the number {}", *integer);
  if (const double* number = get_if<double>()) {
    if (std::isnan(*number)) return "not a number (.nan)";
    if (std::isinf(*number)) return *number > 0 ? "infinity" : "minus infinity";
    return fmt::format("the number {}", *number);
  }
  if (const std::string* text = get_if<std::string>()) return "the text " + in_quotes(*text);
  return get_if<List>() != nullptr ? "a list" : "a map";
}

const Value* Value::find(std::string_view key) const {
  const Map* map = get_if<Map>();
  if (map == nullptr) return nullptr;
  for (const Entry& entry : *map) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

void Value::set(std::string_view key, Value value) {
  if (is_null()) content_ = Map{};
  Map* map = get_if<Map>();
  if (map == nullptr) fail("{} cannot be set in {}", in_quotes(key), describe());
  if (Value* present = find(key)) {
    *present = std::move(value);
    return;
  }
  const int line = value.line();
  map->push_back({std::string(key), line, std::move(value)});
}

}  // namespace stoker::config
