#include "config/flags.h"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text/text.h"
#include "base/text/trimmed.h"
#include "config/document.h"
#include "config/quote.h"

namespace stoker::config {
namespace {

Value list_value(const Field& field, const std::string& text) {
  // Names that hold a comma can be given as a YAML list: '["a,b", c]'.
  if (text.starts_with('[')) return parse_yaml(text, flag_name(field));
  if (field.type == FieldType::groups) {
    Value::List groups;
    for (const std::string& group : split_text(text, '/')) {
      Value::List names;
      for (const std::string& part : split_text(group, ',')) names.emplace_back(std::string(trimmed(part)));
      groups.emplace_back(std::move(names));
    }
    return Value(text.empty() ? Value::List{} : std::move(groups));
  }
  Value::List list;
  if (text.empty()) return Value(std::move(list));
  for (const std::string& part : split_text(text, ',')) {
    const std::string item(trimmed(part));
    list.push_back(field.type == FieldType::texts ? Value(item) : plain_scalar(item, 0));
  }
  return Value(std::move(list));
}

std::string help_text(const Field& field) {
  std::string notes;
  const auto note = [&notes](const std::string& text) {
    if (text.empty()) return;
    notes += (notes.empty() ? "" : "; ") + text;
  };
  note(allowed_text(field));
  if (!field.is_required) {
    std::string value = to_yaml(field.default_value);
    value.pop_back();  // the line's end
    if (value != "null" && value != "\"\"" && value != "[]") note("default " + value);
  }
  return notes.empty() ? field.help : fmt::format("{} ({})", field.help, notes);
}

std::string placeholder(const Field& field) {
  switch (field.type) {
    case FieldType::integer:
      return field.word.empty() ? "INTEGER" : fmt::format("INTEGER|{}", field.word);
    case FieldType::number:
      return "NUMBER";
    case FieldType::integers:
      return "INTEGER,...";
    case FieldType::numbers:
      return "NUMBER,...";
    case FieldType::texts:
      return "TEXT,...";
    case FieldType::groups:
      return "TEXT,.../TEXT,...";
    default:
      return field.choices.empty() ? "TEXT" : "NAME";
  }
}

std::string not_a_switch(const std::string& text) {
  static constexpr std::array<std::string_view, 4> known{"true", "false", "1", "0"};
  const bool is_known = std::find(known.begin(), known.end(), text) != known.end();
  return is_known ? "" : "must be true or false, found " + in_quotes(text);
}

// Where the value of a flag goes: a setting, or one of a map of settings.
class Place {
 public:
  Place(Value& into, std::string group) : into_(&into), group_(std::move(group)) {}

  std::string flag(const Field& field) const {
    if (group_.empty()) return flag_name(field);
    Field named = field;
    named.name = group_ + "_" + field.name;
    return flag_name(named);
  }
  void set(const std::string& name, Value value) const {
    if (group_.empty()) return into_->set(name, std::move(value));
    const Value* known = into_->find(group_);
    Value group = known == nullptr ? Value(Value::Map{}) : *known;
    group.set(name, std::move(value));
    into_->set(group_, std::move(group));
  }

 private:
  Value* into_;
  std::string group_;
};

void add_switch(CLI::App& app, const Field& field, const Place& place) {
  const std::string flag = place.flag(field);
  const std::string names = fmt::format("{},!--no-{}", flag, flag.substr(2));
  app.add_flag_function(
         names, [place, name = field.name](std::int64_t count) { place.set(name, Value(count > 0)); },
         help_text(field))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->check(not_a_switch);
}

void add_option(CLI::App& app, const Field& field, const Place& place) {
  const CLI::callback_t callback = [place, field](const CLI::results_t& given) {
    if (!is_list(field.type)) {
      place.set(field.name, flag_value(field, given.back()));
      return true;
    }
    Value::List all;
    for (const std::string& text : given) {
      const Value list = flag_value(field, text);
      if (const auto* items = list.get_if<Value::List>()) all.insert(all.end(), items->begin(), items->end());
    }
    place.set(field.name, Value(std::move(all)));
    return true;
  };
  CLI::Option* option = app.add_option(place.flag(field), callback, help_text(field));
  option->type_name(placeholder(field));
  option->multi_option_policy(is_list(field.type) ? CLI::MultiOptionPolicy::TakeAll
                                                  : CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

std::string flag_name(const Field& field) {
  std::string name = "--" + field.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

Value flag_value(const Field& field, const std::string& text) {
  if (is_list(field.type)) return list_value(field, std::string(trimmed(text)));
  if (field.type == FieldType::text) return Value(text);
  return plain_scalar(std::string(trimmed(text)), 0);
}

namespace {

void add_flags_to(CLI::App& app, const Fields& fields, const Place& place) {
  for (const Field& field : fields) {
    if (field.type == FieldType::map || field.type == FieldType::maps) continue;
    if (field.type == FieldType::boolean) {
      add_switch(app, field, place);
    } else {
      add_option(app, field, place);
    }
  }
}

}  // namespace

// Of a map, the settings that are declared: --ensemble-folds for {ensemble: {folds: …}}.
void add_flags(CLI::App& app, const Fields& fields, Value& into) {
  for (const Field& field : fields) {
    if (field.inner.empty()) {
      add_flags_to(app, {field}, {into, ""});
    } else {
      add_flags_to(app, field.inner, {into, field.name});
    }
  }
}

}  // namespace stoker::config
