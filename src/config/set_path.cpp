#include <charconv>

#include "base/error.h"
#include "base/text/text.h"
#include "config/quote.h"
#include "config/value.h"

namespace stoker::config {
namespace {

// A value from the command line stands on no line of the document; where it replaces one, messages
// point at what was replaced.
void move_to_line(Value& value, int line) {
  value.set_line(line);
  if (auto* list = value.get_if<Value::List>()) {
    for (Value& item : *list) move_to_line(item, line);
  }
  if (auto* map = value.get_if<Value::Map>()) {
    for (Entry& entry : *map) {
      entry.line = line;
      move_to_line(entry.value, line);
    }
  }
}

Value& item_of(Value::List& list, const std::string& part, std::string_view path) {
  std::size_t index = 0;
  const auto result = std::from_chars(part.data(), part.data() + part.size(), index);
  if (result.ec != std::errc() || result.ptr != part.data() + part.size() || index >= list.size()) {
    refuse("--set {}: {} is not a position in a list of length {}; give a number below that", shown(path),
           in_quotes(part), list.size());
  }
  return list[index];
}

// The place under `part`, made where it is missing.
Value& part_of(Value& parent, const std::string& part, std::string_view path) {
  if (auto* list = parent.get_if<Value::List>()) return item_of(*list, part, path);
  if (!parent.is_null() && parent.get_if<Value::Map>() == nullptr) {
    refuse("--set {}: {} cannot be set, because its parent is {}", shown(path), in_quotes(part),
           parent.describe());
  }
  if (Value* present = parent.find(part)) return *present;
  parent.set(part, Value());
  return *parent.find(part);
}

}  // namespace

void set_path(Value& document, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    refuse("--set {}: expected PATH=VALUE, such as cards.model.config.epochs=5", shown(assignment));
  }
  const std::string_view path = assignment.substr(0, equals);
  const std::vector<std::string> parts = split_text(path, '.');
  if (parts.size() > static_cast<std::size_t>(Bounds{}.depth)) {
    refuse("--set {}: the path has more than {} parts", shown(path), Bounds{}.depth);
  }
  for (const std::string& part : parts) {
    if (part.empty()) refuse("--set {}: a part of the path is empty", shown(path));
  }
  Value value = parse_yaml(assignment.substr(equals + 1), "--set " + shown(path));
  Value* place = &document;
  for (const std::string& part : parts) place = &part_of(*place, part, path);
  move_to_line(value, place->line());
  *place = std::move(value);
}

}  // namespace stoker::config
