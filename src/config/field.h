#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/diagnostics.h"
#include "config/value.h"

// A setting declared once gives parsing, checking, JSON Schema, command-line flags and the reference page:
//
//   struct SplitConfig { double train_ratio = 0.8; };
//   inline config::Fields fields(SplitConfig& c) {
//     return {config::field("train_ratio", c.train_ratio, "Share of the rows to train on").within(0.0, 1.0)};
//   }
//   SplitConfig c = config::read<SplitConfig>(value, "cards.split.config", diagnostics);
//
// The default is what the member holds when the field is declared.
namespace stoker::config {

// Specialise for an enum whose values are 0, 1, 2, …:
//   template <> inline constexpr std::array<std::string_view, 2> config::names<Color>{"red", "blue"};
template <class Enum>
inline constexpr std::array<std::string_view, 0> names{};

template <class Enum>
std::string_view name_of(Enum value) {
  return names<Enum>[static_cast<std::size_t>(value)];
}

enum class FieldType { boolean, integer, number, text, integers, numbers, texts, groups, maps, map };
bool is_list(FieldType type);

// What a setting changes beside the model that it leads to. Who compares models that differ in it must know.
enum class Changes {
  nothing_else,
  rows,        // which rows are held back to be scored on
  loss,        // what the loss measures
  conditions,  // what is predicted, or where and how long it is trained: nothing is left to compare by
};

// What people who come from elsewhere call a setting, or one that nothing here needs.
struct OtherName {
  std::string name;
  std::string note;  // what it means here, told to who used it
  // The setting's value for one that was given under this name; none: there is nothing to set.
  std::function<std::optional<Value>(const Value& given)> translate;
};

class Field {
 public:
  std::string name;
  std::string help;
  FieldType type = FieldType::text;
  Value default_value;
  std::optional<double> least;
  std::optional<double> most;
  bool above_least = false;           // the least value itself is not allowed
  bool below_most = false;            // the most value itself is not allowed
  std::optional<std::size_t> fewest;  // items of a list, characters of a text
  std::vector<std::string> choices;   // for text
  bool is_required = false;
  bool is_optional = false;  // null or "" is a value: not set
  std::vector<Field> inner;  // of a map whose settings are declared too
  Changes changes = Changes::nothing_else;
  std::string word;  // of a whole number: may stand in its place; "": none
  std::vector<OtherName> other_names;
  // What the member's type can hold; a value outside is refused, never wrapped around.
  std::int64_t lowest_integer = std::numeric_limits<std::int64_t>::min();
  std::int64_t highest_integer = std::numeric_limits<std::int64_t>::max();
  double highest_number = std::numeric_limits<double>::max();

  // Chained at the declaration.
  Field&& within(double low, double high) &&;
  Field&& at_least(double low) &&;
  Field&& above(double low) &&;
  Field&& below(double high) &&;  // together with at_least: [low, high)
  Field&& not_empty() &&;
  Field&& required() &&;
  Field&& optional() &&;
  // A whole number or this word, for which the member holds `stands_as`, a number outside of the range.
  Field&& or_word(const std::string& given, std::int64_t stands_as) &&;
  // Read in place of this setting, with the note.
  Field&& also_called(std::string other, std::string note,
                      std::function<std::optional<Value>(const Value&)> translate = nullptr) &&;
  // A name that belongs beside this setting elsewhere. Here it sets nothing, and the note says why.
  Field&& needs_no(std::string other, std::string note) &&;
  Field&& changes_rows() &&;
  Field&& changes_loss() &&;
  Field&& changes_conditions() &&;

  // Checks the value and, if it is right, stores it in the member that the field was declared for.
  void read(const Value& value, const std::string& path, Diagnostics& diagnostics) const;
  // The member's current value.
  Value current() const;

  std::function<void(const Value&)> store_;  // called with a checked value
  std::function<Value()> load_;
};

using Fields = std::vector<Field>;

// Supported members: bool, integers, double/float, std::string, enums with names<>, std::vector of
// integers, numbers or strings, std::optional of a scalar, Value (a map that the owner checks itself) and
// std::vector of such.
template <class Member>
Field field(std::string name, Member& member, std::string help);

// A map of settings, which fields(member) declares; where it is not given, they have their defaults.
template <class Config>
Field field_of_settings(std::string name, Config& member, std::string help);

// Reads a map: unknown keys (with the nearest known name), wrong types and ranges, missing required ones.
// Names that are others' leave a note in the diagnostics.
void read_fields(const Fields& fields, const Value& map, const std::string& path, Diagnostics& diagnostics);

template <class Config>
Config read(const Value& map, const std::string& path, Diagnostics& diagnostics) {
  Config config;
  read_fields(fields(config), map, path, diagnostics);
  return config;
}

// Every setting with its current value, defaults written out.
Value write_fields(const Fields& fields);

template <class Config>
Value write(const Config& config) {
  Config copy = config;
  return write_fields(fields(copy));
}

// JSON Schema (draft 2020-12) of a map with these fields.
nlohmann::json json_schema(const Fields& fields);

// Markdown table of the fields: setting, type, default, allowed, meaning.
std::string reference_table(const Fields& fields);

// "one of relu, tanh", "0 to 1", "at least 1", "above 0", "not empty" or "".
std::string allowed_text(const Field& field);
std::string type_text(const Field& field);

}  // namespace stoker::config

#include "config/field_members.h"
