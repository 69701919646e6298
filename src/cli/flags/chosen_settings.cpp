#include "cli/flags/chosen_settings.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text/text.h"

namespace stoker::cli {
namespace {

// Settings that `stoker train` sets itself by other rules than those of recommended_settings(). Without
// commas and semicolons, which would put them into quotes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> other_choices{
    {{"scaling", "chosen by the data and the model"},
     {"scale_target", "true for networks and false for linear models"},
     {"relative_to", "auto with --windows and none without"},
     {"stratify_column", "the target if it has classes"},
     {"small_strata", "together if the target has classes"}}};

std::string default_of(const std::string& name) {
  const auto other =
      std::ranges::find(other_choices, name, &std::pair<std::string_view, std::string_view>::first);
  if (other != other_choices.end()) return std::string(other->second);
  const auto chosen = settings_chosen_by_data();
  return std::ranges::find(chosen, name) == chosen.end() ? "" : "chosen by the data";
}

// One line: "[64, 64]" and "0.01" as in YAML; of a map, its keys.
std::string text_of_value(const config::Value& value) {
  if (const auto* list = value.get_if<config::Value::List>()) {
    std::vector<std::string> items;
    for (const config::Value& each : *list) items.push_back(text_of_value(each));
    return join(items, ",");
  }
  if (const auto* map = value.get_if<config::Value::Map>()) {
    std::vector<std::string> keys;
    for (const config::Entry& each : *map) keys.push_back(each.key);
    return join(keys, " and ");
  }
  std::string text = config::to_yaml(value);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void add_choices(const config::Value& given, const config::Value& chosen, const std::string& before,
                 std::vector<std::string>& texts) {
  const auto* entries = chosen.get_if<config::Value::Map>();
  if (entries == nullptr) return;
  for (const config::Entry& each : *entries) {
    const config::Value* known = given.find(each.key);
    const bool is_ensemble = each.key == "ensemble";
    if (is_ensemble)
      add_choices(known == nullptr ? config::Value() : *known, each.value, "ensemble_", texts);
    else if (known == nullptr)
      texts.push_back(fmt::format("{}{} {}", before, each.key, text_of_value(each.value)));
  }
}

std::string words_of_shape(const TableShape& shape, bool is_known) {
  const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(shape.rows, 0));
  if (!is_known)
    return fmt::format("for {} training rows, because the table was not read in advance", human_count(rows));
  if (shape.moments > 0) return fmt::format("for {} training windows", human_count(rows));
  return fmt::format(
      "for {} and {}{}", counted(rows, "training row"),
      counted(static_cast<std::uint64_t>(std::max<std::int64_t>(shape.numbers, 0)), "numeric column"),
      shape.has_classes ? ", target with classes" : "");
}

}  // namespace

config::Fields with_choices_as_defaults(config::Fields fields) {
  for (config::Field& each : fields) {
    if (const std::string text = default_of(each.name); !text.empty()) each.default_value = text;
    for (config::Field& inner : each.inner)
      if (const std::string text = default_of(each.name + "." + inner.name); !text.empty())
        inner.default_value = text;
  }
  return fields;
}

std::string text_of_choices(const NetworkSettings& given, const NetworkSettings& chosen) {
  std::vector<std::string> texts;
  add_choices(given.model, chosen.model, "", texts);
  add_choices(given.train, chosen.train, "", texts);
  return join(texts, ", ");
}

std::vector<std::string> lines_about_choices(const TableShape& shape, bool is_known,
                                             const NetworkSettings& given, const NetworkSettings& chosen) {
  const std::string choices = text_of_choices(given, chosen);
  if (choices.empty()) return {};
  std::vector<std::string> lines{fmt::format("chosen {}: {}", words_of_shape(shape, is_known), choices)};
  if (!chosen.reasons.empty()) lines.push_back(fmt::format("why: {}", join(chosen.reasons, "; ")));
  return lines;
}

}  // namespace stoker::cli
