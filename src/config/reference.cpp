#include <fmt/format.h>

#include "base/text/text.h"
#include "config/field.h"

namespace stoker::config {
namespace {

std::string range_text(const Field& field) {
  const bool low = field.least.has_value();
  const bool high = field.most.has_value();
  if (low && high && !field.above_least && !field.below_most) {
    return fmt::format("{} to {}", *field.least, *field.most);
  }
  std::string text;
  if (low) text = fmt::format("{} {}", field.above_least ? "above" : "at least", *field.least);
  if (low && high) text += " and ";
  if (high) text += fmt::format("{} {}", field.below_most ? "below" : "at most", *field.most);
  return text;
}

std::string in_cell(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (character == '|') result += '\\';
    result += character == '\n' ? ' ' : character;
  }
  return result;
}

std::string default_text(const Field& field) {
  if (field.is_required) return "required";
  const Value& value = field.default_value;
  const std::string* text = value.get_if<std::string>();
  const Value::List* list = value.get_if<Value::List>();
  if (value.is_null() || (text != nullptr && text->empty()) || (list != nullptr && list->empty())) return "";
  std::string yaml = to_yaml(value);
  while (!yaml.empty() && yaml.back() == '\n') yaml.pop_back();
  return "`" + in_cell(yaml) + "`";
}

}  // namespace

std::string allowed_text(const Field& field) {
  std::vector<std::string> parts;
  if (!field.choices.empty()) parts.push_back("one of " + join(field.choices, ", "));
  if (field.least || field.most)
    parts.push_back(range_text(field) + (field.word.empty() ? "" : " or " + field.word));
  if (is_list(field.type) && !parts.empty()) parts.back() = "each " + parts.back();
  if (field.fewest) {
    parts.push_back(*field.fewest == 1 ? std::string("not empty")
                                       : fmt::format("{} or more items", *field.fewest));
  }
  return join(parts, "; ");
}

std::string type_text(const Field& field) {
  switch (field.type) {
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer:
      return field.word.empty() ? "whole number" : fmt::format("whole number or `{}`", field.word);
    case FieldType::number:
      return "number";
    case FieldType::text:
      return "text";
    case FieldType::integers:
      return "list of whole numbers";
    case FieldType::numbers:
      return "list of numbers";
    case FieldType::texts:
      return "list of text values";
    case FieldType::groups:
      return "list of lists of names";
    case FieldType::maps:
      return "list of maps";
    case FieldType::map:
      return "map";
  }
  return {};
}

namespace {

// A map's own settings stand below it, by their paths.
std::string reference_rows(const Fields& fields, const std::string& path) {
  std::string rows;
  for (const Field& field : fields) {
    const std::string name = path + field.name;
    rows += fmt::format("| `{}` | {} | {} | {} | {} |\n", name, type_text(field),
                        field.inner.empty() ? default_text(field) : "", in_cell(allowed_text(field)),
                        in_cell(field.help));
    for (const OtherName& other : field.other_names)
      rows += fmt::format("| `{}` | | | | {} |\n", path + other.name, in_cell(other.note));
    rows += reference_rows(field.inner, name + ".");
  }
  return rows;
}

}  // namespace

std::string reference_table(const Fields& fields) {
  return "| setting | type | default | allowed | meaning |\n|---|---|---|---|---|\n" +
         reference_rows(fields, "");
}

}  // namespace stoker::config
