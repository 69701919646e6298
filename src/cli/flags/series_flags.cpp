#include "cli/flags/series_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/flags.h"

namespace stoker::cli {
namespace {

// What other flags give: --windows, --target, those of the split and the training, the model.
constexpr std::array<std::string_view, 7> given_otherwise{
    "length", "target_column", "group_column", "time_column", "feature_columns", "layout", "slower_names"};

// Where the command does otherwise than the card.
constexpr std::int64_t usual_horizon = 1;
constexpr bool usually_carries_forward = true;

config::Fields own_fields() {
  WindowsConfig usual;
  const std::int64_t horizon_of_card = usual.horizon;
  usual.horizon = usual_horizon;
  usual.carry_forward = usually_carries_forward;
  config::Fields own = fields(usual);
  std::erase_if(own, [](const config::Field& field) {
    return std::ranges::find(given_otherwise, field.name) != given_otherwise.end();
  });
  std::ranges::find(own, "horizon", &config::Field::name)->help +=
      fmt::format("; with --answer given {} unless it is set", horizon_of_card);
  return own;
}

// An answer that is given may look far ahead, so that 1 would let it overlap what is held back.
bool has_given_answer(const config::Value& settings) {
  const config::Value* answer = settings.find("answer");
  const auto* name = answer == nullptr ? nullptr : answer->get_if<std::string>();
  return name != nullptr && *name == config::name_of(Answer::given);
}

// A setting that is moved from one card to another; nothing where it was not given.
void move_setting(const char* name, config::Value& from, config::Value& to) {
  const auto* entries = from.get_if<config::Value::Map>();
  if (entries == nullptr) return;
  config::Value rest;
  for (const config::Entry& entry : *entries) (entry.key == name ? to : rest).set(entry.key, entry.value);
  from = std::move(rest);
}

}  // namespace

void add_series_flags(CLI::App& app, SeriesFlags& flags) {
  app.option_defaults()->group("Settings of a series");
  app.add_option("--windows", flags.length,
                 "The rows are a series: predict from windows of so many rows, one behind the other; "
                 "--time-column and --group-column say when and of what each row is")
      ->type_name("LENGTH");
  config::add_flags(app, own_fields(), flags.settings);
  app.add_option(
         "--slower", flags.slower,
         "A table of longer steps, such as hours beside quarters of an hour, joined as it was known at "
         "the time of each row; may be repeated")
      ->type_name("NAME=DATA");
}

void refuse_without_windows(const SeriesFlags& flags, const std::string& model, bool reads_windows) {
  if (flags.are_given()) return;
  if (!flags.slower.empty()) refuse("--slower goes with a series; add --windows LENGTH");
  const auto* given = flags.settings.get_if<config::Value::Map>();
  if (given != nullptr && !given->empty()) {
    std::string flag = "--" + given->front().key;
    std::ranges::replace(flag, '_', '-');
    refuse("{} is a setting of windows of a series; add --windows LENGTH", flag);
  }
  if (reads_windows)
    refuse("{} reads windows of a series; add --windows LENGTH, such as --windows 20, and --time-column",
           model);
}

config::Value windows_settings(const SeriesFlags& flags, const std::string& target, bool reads_windows,
                               config::Value& split, config::Value& train) {
  config::Value settings;
  settings.set("length", *flags.length);
  settings.set("target_column", target);
  move_setting("time_column", split, settings);
  move_setting("group_column", split, settings);
  move_setting("feature_columns", train, settings);
  if (const auto* given = flags.settings.get_if<config::Value::Map>())
    for (const config::Entry& entry : *given) settings.set(entry.key, entry.value);
  if (settings.find("horizon") == nullptr && !has_given_answer(settings))
    settings.set("horizon", usual_horizon);
  if (settings.find("carry_forward") == nullptr) settings.set("carry_forward", usually_carries_forward);
  if (!reads_windows) settings.set("layout", std::string(config::name_of(WindowLayout::columns)));
  return settings;
}

std::optional<WindowsConfig> windows_config(const config::Value& settings) {
  config::Diagnostics diagnostics("");
  auto config = config::read<WindowsConfig>(settings, "", diagnostics);
  if (!diagnostics.empty()) return std::nullopt;
  return config;
}

std::vector<SlowerCard> slower_cards(const SeriesFlags& flags, config::Value& settings) {
  std::vector<SlowerCard> cards;
  config::Value::List names;
  for (const std::string& word : flags.slower) {
    const SlowerFile given = slower_file(word);
    if (given.name.empty())
      refuse("--slower {} needs a name for its columns, such as --slower h1={}", word, word);
    const std::string id = "load_" + given.name;
    if (std::ranges::find(cards, id, &SlowerCard::id) != cards.end())
      refuse("--slower gives two tables the name {}", given.name);
    cards.push_back({id, given, {}});
    names.emplace_back(given.name);
  }
  if (!names.empty()) settings.set("slower_names", std::move(names));
  return cards;
}

}  // namespace stoker::cli
