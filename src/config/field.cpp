#include "config/field.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/text.h"
#include "config/quote.h"

namespace stoker::config {
namespace {

// Longer names are not worth the search for a near one.
constexpr std::size_t longest_name = 100;

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  return name.size() > longest_name ? std::string() : did_you_mean(name, known);
}

std::string path_to(const std::string& path, std::string_view key) {
  return path.empty() ? shown(key) : path + "." + shown(key);
}

FieldType item_type(FieldType type) {
  switch (type) {
    case FieldType::integers:
      return FieldType::integer;
    case FieldType::numbers:
      return FieldType::number;
    case FieldType::texts:
      return FieldType::text;
    case FieldType::maps:
      return FieldType::map;
    default:
      return type;
  }
}

std::string expectation(FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer:
      return "a whole number";
    case FieldType::number:
      return "a number";
    case FieldType::text:
      return "text";
    case FieldType::integers:
      return "a list of whole numbers, such as [64, 32]";
    case FieldType::numbers:
      return "a list of numbers, such as [0.1, 1.0]";
    case FieldType::texts:
      return "a list of text values, such as [a, b]";
    case FieldType::groups:
      return "a list of lists, such as [[a, b], [c]]";
    case FieldType::maps:
      return "a list of maps, such as [{name: a}, {name: b}]";
    case FieldType::map:
      return "a map of settings";
  }
  return {};
}

// Checks one value of a field and turns it into exactly the type that the member stores. What is wrong
// goes to the diagnostics, and nothing comes back.
class Check {
 public:
  Check(const Field& field, Diagnostics& diagnostics) : field_(field), diagnostics_(diagnostics) {}

  std::optional<Value> whole(const Value& value, const std::string& path) const {
    if (is_not_set(value)) return Value();
    if (const std::string* given = value.get_if<std::string>(); given != nullptr && is_word(*given))
      return Value(*given, value.line());
    if (!is_list(field_.type)) return single(field_.type, value, value.line(), path);
    const Value::List* list = value.get_if<Value::List>();
    if (list == nullptr) return wrong_type(field_.type, value, value.line(), path);
    if (field_.fewest && list->size() < *field_.fewest) {
      return wrong(value.line(), path,
                   list->empty()
                       ? "must not be empty"
                       : fmt::format("needs at least {} items, found {}", *field_.fewest, list->size()));
    }
    return field_.type == FieldType::groups ? groups(*list, value.line(), path)
                                            : items(*list, value.line(), path);
  }

 private:
  bool is_word(const std::string& text) const { return !field_.word.empty() && text == field_.word; }

  bool is_not_set(const Value& value) const {
    if (value.is_null()) return field_.is_optional || field_.type == FieldType::map;
    const std::string* text = value.get_if<std::string>();
    return field_.is_optional && text != nullptr && text->empty();
  }

  std::optional<Value> items(const Value::List& list, int line, const std::string& path) const {
    Value::List checked;
    bool right = true;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const int item_line = list[i].line() > 0 ? list[i].line() : line;
      auto item = single(item_type(field_.type), list[i], item_line, fmt::format("{}.{}", path, i));
      right = right && item.has_value();
      if (right) checked.push_back(std::move(*item));
    }
    return right ? std::optional<Value>(Value(std::move(checked), line)) : std::nullopt;
  }

  // Names may be numbers, too: what they stand for is text.
  std::optional<Value> groups(const Value::List& list, int line, const std::string& path) const {
    Value::List checked;
    bool right = true;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const int group_line = list[i].line() > 0 ? list[i].line() : line;
      const std::string group_path = fmt::format("{}.{}", path, i);
      const Value::List* group = list[i].get_if<Value::List>();
      if (group == nullptr) {
        wrong(group_line, group_path, "must be a list of names, such as [a, b], found " + list[i].describe());
        right = false;
        continue;
      }
      Value::List names;
      for (const Value& each : *group) {
        if (const std::optional<std::string> name = as_text(each)) {
          names.emplace_back(*name, each.line());
        } else {
          wrong(group_line, group_path, "must hold names, found " + each.describe());
          right = false;
        }
      }
      checked.emplace_back(std::move(names), group_line);
    }
    return right ? std::optional<Value>(Value(std::move(checked), line)) : std::nullopt;
  }

  static std::optional<std::string> as_text(const Value& value) {
    if (const std::string* text = value.get_if<std::string>()) return *text;
    if (const std::int64_t* whole = value.get_if<std::int64_t>()) return std::to_string(*whole);
    if (const double* number = value.get_if<double>()) return fmt::format("{}", *number);
    if (const bool* is = value.get_if<bool>()) return *is ? "true" : "false";
    return std::nullopt;
  }

  std::optional<Value> single(FieldType type, const Value& value, int line, const std::string& path) const {
    switch (type) {
      case FieldType::boolean:
        return value.get_if<bool>() != nullptr ? std::optional(value) : wrong_type(type, value, line, path);
      case FieldType::integer:
        return integer(value, line, path);
      case FieldType::number:
        return number(value, line, path);
      case FieldType::text:
        return text(value, line, path);
      default:
        return value.get_if<Value::Map>() != nullptr ? std::optional(value)
                                                     : wrong_type(type, value, line, path);
    }
  }

  std::optional<Value> integer(const Value& value, int line, const std::string& path) const {
    std::int64_t whole = 0;
    if (const std::int64_t* given = value.get_if<std::int64_t>()) {
      whole = *given;
    } else if (const double* given_number = value.get_if<double>()) {
      if (!(std::floor(*given_number) == *given_number) || std::isinf(*given_number)) {
        return wrong_type(FieldType::integer, value, line, path);
      }
      // 2^63 is the first double that no longer fits.
      if (std::abs(*given_number) >= 9223372036854775808.0) return out_of_range(value, line, path);
      whole = static_cast<std::int64_t>(*given_number);
    } else {
      return wrong_type(FieldType::integer, value, line, path);
    }
    const bool held = whole >= field_.lowest_integer && whole <= field_.highest_integer;
    if (!held || !in_range(static_cast<double>(whole))) return out_of_range(value, line, path);
    return Value(whole, line);
  }

  std::optional<Value> number(const Value& value, int line, const std::string& path) const {
    const std::int64_t* whole = value.get_if<std::int64_t>();
    const double* given = value.get_if<double>();
    if (whole == nullptr && given == nullptr) return wrong_type(FieldType::number, value, line, path);
    const double checked = whole != nullptr ? static_cast<double>(*whole) : *given;
    if (!std::isfinite(checked)) {
      return wrong(line, path, "must be a finite number, found " + value.describe());
    }
    if (std::abs(checked) > field_.highest_number || !in_range(checked)) {
      return out_of_range(value, line, path);
    }
    return Value(checked, line);
  }

  std::optional<Value> text(const Value& value, int line, const std::string& path) const {
    const std::string* given = value.get_if<std::string>();
    if (given == nullptr) return wrong_type(FieldType::text, value, line, path);
    if (!field_.choices.empty()) {
      if (std::find(field_.choices.begin(), field_.choices.end(), *given) == field_.choices.end()) {
        return wrong(line, path,
                     fmt::format("{} is not a valid choice{} (allowed: one of {})", in_quotes(*given),
                                 suggestion(*given, field_.choices), join(field_.choices, ", ")));
      }
    } else if (!is_list(field_.type) && field_.fewest && given->size() < *field_.fewest) {
      return wrong(line, path, "must not be empty");
    }
    return Value(*given, line);
  }

  bool in_range(double number) const {
    if (field_.least && (field_.above_least ? !(number > *field_.least) : !(number >= *field_.least))) {
      return false;
    }
    return !(field_.most && (field_.below_most ? !(number < *field_.most) : !(number <= *field_.most)));
  }

  // Names the declared range, or that of the member's type where the value is inside of the declared one.
  std::optional<Value> out_of_range(const Value& value, int line, const std::string& path) const {
    const std::int64_t* whole = value.get_if<std::int64_t>();
    Field named = field_;
    named.fewest.reset();
    if (in_range(whole != nullptr ? static_cast<double>(*whole) : *value.get_if<double>())) {
      const bool is_integer = item_type(field_.type) == FieldType::integer;
      const double high = is_integer ? static_cast<double>(field_.highest_integer) : field_.highest_number;
      if (!named.least) named.least = is_integer ? static_cast<double>(field_.lowest_integer) : -high;
      if (!named.most) named.most = high;
    }
    return wrong(line, path,
                 fmt::format("{} is out of range; allowed: {}", value.describe(), allowed_text(named)));
  }

  std::optional<Value> wrong_type(FieldType type, const Value& value, int line,
                                  const std::string& path) const {
    std::string hint;
    const bool scalar = !value.is_null() && !value.get_if<Value::List>() && !value.get_if<Value::Map>();
    if (type == FieldType::text && scalar) hint = "; put it in quotes";
    const std::string or_word = field_.word.empty() ? "" : " or " + field_.word;
    return wrong(line, path,
                 fmt::format("must be {}{}, found {}{}", expectation(type), or_word, value.describe(), hint));
  }

  std::optional<Value> wrong(int line, const std::string& path, std::string message) const {
    diagnostics_.add(line, path, std::move(message));
    return std::nullopt;
  }

  const Field& field_;
  Diagnostics& diagnostics_;
};

}  // namespace

bool is_list(FieldType type) {
  return type == FieldType::integers || type == FieldType::numbers || type == FieldType::texts ||
         type == FieldType::groups || type == FieldType::maps;
}

Field&& Field::within(double low, double high) && {
  // above(0).within(0, 1) is (0, 1].
  above_least = above_least && least == low;
  below_most = below_most && most == high;
  least = low;
  most = high;
  return std::move(*this);
}

Field&& Field::at_least(double low) && {
  least = low;
  above_least = false;
  return std::move(*this);
}

Field&& Field::above(double low) && {
  least = low;
  above_least = true;
  return std::move(*this);
}

Field&& Field::below(double high) && {
  most = high;
  below_most = true;
  return std::move(*this);
}

Field&& Field::not_empty() && {
  fewest = 1;
  return std::move(*this);
}

Field&& Field::required() && {
  is_required = true;
  return std::move(*this);
}

Field&& Field::optional() && {
  is_optional = true;
  return std::move(*this);
}

Field&& Field::or_word(const std::string& given, std::int64_t stands_as) && {
  word = given;
  store_ = [store = store_, stands_as](const Value& value) {
    store(value.get_if<std::string>() != nullptr ? Value(stands_as) : value);
  };
  load_ = [load = load_, given, stands_as] {
    Value value = load();
    const std::int64_t* number = value.get_if<std::int64_t>();
    return number != nullptr && *number == stands_as ? Value(given) : value;
  };
  default_value = load_();
  return std::move(*this);
}

Field&& Field::also_called(std::string other, std::string note,
                           std::function<std::optional<Value>(const Value&)> translate) && {
  if (!translate) translate = [](const Value& given) { return given; };
  other_names.push_back({std::move(other), std::move(note), std::move(translate)});
  return std::move(*this);
}

Field&& Field::needs_no(std::string other, std::string note) && {
  other_names.push_back({std::move(other), std::move(note), [](const Value&) { return std::nullopt; }});
  return std::move(*this);
}

Field&& Field::changes_rows() && {
  changes = Changes::rows;
  return std::move(*this);
}

Field&& Field::changes_loss() && {
  changes = Changes::loss;
  return std::move(*this);
}

Field&& Field::changes_conditions() && {
  changes = Changes::conditions;
  return std::move(*this);
}

Value Field::current() const {
  return inner.empty() ? load_() : write_fields(inner);
}

void Field::read(const Value& value, const std::string& path, Diagnostics& diagnostics) const {
  if (!inner.empty()) return read_fields(inner, value, path, diagnostics);
  if (const auto checked = Check(*this, diagnostics).whole(value, path)) store_(*checked);
}

namespace {

// A setting under its own name or under one that others have for it.
class FieldReader {
 public:
  FieldReader(const Fields& fields, const std::string& path, Diagnostics& diagnostics)
      : fields_(fields), path_(path), diagnostics_(diagnostics), given_(fields.size()) {
    for (const Field& field : fields) known_.push_back(field.name);
  }

  void read(const Entry& entry) {
    const auto index =
        static_cast<std::size_t>(std::find(known_.begin(), known_.end(), entry.key) - known_.begin());
    if (index < fields_.size()) return store(index, entry, entry.value);
    if (!read_other_name(entry))
      diagnostics_.add(entry.line, path_to(path_, entry.key),
                       "unknown setting" + suggestion(entry.key, known_));
  }

  void add_missing(int line) const {
    for (std::size_t i = 0; i < fields_.size(); ++i)
      if (fields_[i].is_required && given_[i].empty())
        diagnostics_.add(line, path_to(path_, fields_[i].name), "missing, and there is no default");
  }

 private:
  bool read_other_name(const Entry& entry) {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      for (const OtherName& other : fields_[i].other_names) {
        if (other.name != entry.key) continue;
        diagnostics_.note(entry.line, path_to(path_, entry.key), other.note);
        if (const std::optional<Value> value = other.translate(entry.value)) store(i, entry, *value);
        return true;
      }
    }
    return false;
  }

  void store(std::size_t index, const Entry& entry, const Value& value) {
    if (!given_[index].empty())
      return diagnostics_.add(entry.line, path_to(path_, entry.key),
                              fmt::format("sets what {} sets too; leave one of them out", given_[index]));
    given_[index] = entry.key;
    fields_[index].read(value, path_to(path_, entry.key), diagnostics_);
  }

  const Fields& fields_;
  const std::string& path_;
  Diagnostics& diagnostics_;
  std::vector<std::string> known_;
  std::vector<std::string> given_;  // the name under which each was set
};

}  // namespace

void read_fields(const Fields& fields, const Value& map, const std::string& path, Diagnostics& diagnostics) {
  const Value::Map* entries = map.get_if<Value::Map>();
  if (entries == nullptr && !map.is_null()) {
    diagnostics.add(map.line(), path, "must be a map of settings, found " + map.describe());
    return;
  }
  FieldReader reader(fields, path, diagnostics);
  if (entries != nullptr)
    for (const Entry& entry : *entries) reader.read(entry);
  reader.add_missing(map.line());
}

Value write_fields(const Fields& fields) {
  Value::Map map;
  for (const Field& field : fields) map.push_back({field.name, 0, field.current()});
  return Value(std::move(map));
}

}  // namespace stoker::config
