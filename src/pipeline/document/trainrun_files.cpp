#include <string>

#include "pipeline/document/trainrun_form.h"

// Files that a train run of cuvis.ai names beside itself.
namespace stoker {
namespace {

using config::Entry;
using config::Value;

// What is missing in one map is taken from the other.
void take_missing(const Value& from, Value& to) {
  const auto* map = from.get_if<Value::Map>();
  if (map == nullptr) return;
  for (const Entry& entry : *map) {
    Value* own = to.find(entry.key);
    if (own == nullptr)
      to.set(entry.key, entry.value);
    else if (own->get_if<Value::Map>() != nullptr)
      take_missing(entry.value, *own);
  }
}

// Lines of another file would be taken for those of the document.
void forget_lines(Value& value) {
  value.set_line(0);
  if (auto* list = value.get_if<Value::List>())
    for (Value& each : *list) forget_lines(each);
  if (auto* map = value.get_if<Value::Map>())
    for (Entry& entry : *map) {
      entry.line = 0;
      forget_lines(entry.value);
    }
}

Value load_other_file(const std::filesystem::path& path) {
  Value value = config::load_document(path);
  forget_lines(value);
  return value;
}

// "/data@data" of `defaults` is the file NAME.yaml in the folder data.
void take_default(const Entry& entry, const std::filesystem::path& root, Value& document) {
  const auto* name = entry.value.get_if<std::string>();
  const std::size_t at = entry.key.rfind('@');
  if (name == nullptr || at == std::string::npos || !entry.key.starts_with('/')) return;
  const std::string key = entry.key.substr(at + 1);
  const std::filesystem::path file = root / entry.key.substr(1, at - 1) / (*name + ".yaml");
  if (!std::filesystem::exists(file)) return;
  const Value read = load_other_file(file);
  if (Value* own = document.find(key))
    take_missing(read, *own);
  else
    document.set(key, read);
}

}  // namespace

Value with_files_of_trainrun(Value document, const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  const Value* pipeline = document.find("pipeline");
  if (const auto* graph = pipeline == nullptr ? nullptr : pipeline->get_if<std::string>())
    document.set("pipeline", load_other_file(folder / *graph));
  const Value* defaults = document.find("defaults");
  const auto* list = defaults == nullptr ? nullptr : defaults->get_if<Value::List>();
  if (list == nullptr) return document;
  const Value::List named = *list;
  for (const Value& each : named)
    if (const auto* map = each.get_if<Value::Map>())
      for (const Entry& entry : *map) take_default(entry, folder / "..", document);
  return document;
}

}  // namespace stoker
