#include "pipeline/document/sweep_document.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "pipeline/cache/all_rows.h"
#include "pipeline/card/card.h"
#include "pipeline/document/seed_form.h"
#include "pipeline/training/training_card.h"

namespace stoker {
namespace {

using config::Diagnostics;
using config::Value;

constexpr std::int64_t usual_draws = 32;
constexpr std::int64_t most_trainings = 1'000'000;

int line_of_sweep(const Value& document, const char* setting) {
  const Value* section = document.find("sweep");
  if (section == nullptr) return document.line();
  const Value* value = section->find(setting);
  return value != nullptr ? value->line() : section->line();
}

// Of the strategy and the space; what the settings of the section themselves forbid has been said.
void check_strategy(const Value& document, const SweepConfig& config,
                    const std::vector<SearchedSetting>& space, Diagnostics& diagnostics) {
  const auto at = [&](const char* setting, std::string message) {
    diagnostics.add(line_of_sweep(document, setting), std::string("sweep.") + setting, std::move(message));
  };
  if (config.folds == 1) at("folds", "one fold leaves nothing to train on; use 2 or more, or 0");
  if (config.strategy == Strategy::grid) {
    bool ranges = false;
    for (const SearchedSetting& setting : space) {
      if (setting.is_list()) continue;
      ranges = true;
      diagnostics.add(
          setting.written.line(), setting.path(),
          fmt::format("{} has infinitely many values, and strategy grid tries them all; give a grid, or "
                      "set sweep.strategy to random",
                      config::name_of(setting.kind)));
    }
    if (!ranges && !combinations(space))
      at("strategy", fmt::format("the grid has more than {} combinations, the maximum; use random or "
                                 "halving with models",
                                 most_candidates));
    if (config.models > 0) at("models", "applies to random and halving only; a grid tries every combination");
  }
  for (const SearchedSetting& setting : space) {
    if (config.folds > 0 || setting.changes != config::Changes::rows) continue;
    diagnostics.add(setting.written.line(), setting.path(),
                    "changes which rows are held back, so scores could not be compared; set sweep.folds, for "
                    "example to 5");
  }
  if (config.metric != loss_of_training) return;
  for (const SearchedSetting& setting : space) {
    if (setting.changes != config::Changes::loss) continue;
    diagnostics.add(setting.written.line(), setting.path(),
                    "changes what the validation loss measures, so losses could not be compared; set "
                    "sweep.metric, for example to rmse");
  }
}

// Settings inside a map, such as hyperparameters, are known to the card's own check alone.
void check_inner_values(const SweepDocument& sweep, Diagnostics& diagnostics) {
  if (!diagnostics.empty()) return;
  for (const SearchedSetting& setting : sweep.space) {
    if (setting.parts.size() <= 4) continue;
    const Value& card = *sweep.value.find("cards")->find(setting.parts[1]);
    const CardType& type = *card_named(sweep.base, setting.parts[1]).kind;
    const std::vector<std::string> inner(setting.parts.begin() + 3, setting.parts.end());
    for (const Value& value : setting.samples()) {
      Value settings = *card.find("config");
      put(settings, inner, value);
      type.check(settings, "cards." + setting.parts[1] + ".config", diagnostics);
    }
  }
}

std::string only_training_card(const Document& document, const std::string& file) {
  std::vector<std::string> found;
  for (const Card& card : document.cards)
    if (trains(card)) found.push_back(card.id);
  if (found.size() != 1)
    refuse("{}: a sweep needs a document with one card that trains, but this one has {}", file, found.size());
  return found.front();
}

// Candidates are compared on rows that they were not trained on.
void check_scoring(const SweepDocument& sweep) {
  const Card& train = card_named(sweep.base, sweep.train_card);
  const std::optional<ModelSpec> spec = spec_to_train(sweep.base, train);
  const bool solved = spec && spec->is_solved();
  if (solved && sweep.config.strategy == Strategy::halving)
    refuse(
        "{}: strategy halving drops candidates after some epochs, but {} has none; use grid "
        "or random",
        sweep.file_name, spec->family);
  if (sweep.config.folds > 0) return;
  if (spec && !solved && spec->training.sets_rows_aside()) return;
  refuse(
      "{}: candidates are compared on rows that they are not trained on: set {}sweep.folds, for example to 5",
      sweep.file_name,
      solved ? ""
             : fmt::format("cards.{}.config.validation_ratio, for example to 0.1, or ",
                           model_to_train(train).card));
}

}  // namespace

std::int64_t SweepDocument::candidate_count() const {
  const std::optional<std::int64_t> all = combinations(space);
  if (space.empty()) return 1;
  if (config.strategy == Strategy::grid) return all.value_or(0);
  if (config.strategy == Strategy::halving && config.models == 0 && all) return *all;
  const std::int64_t wanted = config.models == 0 ? usual_draws : config.models;
  return all ? std::min(wanted, *all) : wanted;
}

Document SweepDocument::with(const std::vector<Value>& values) const {
  Value filled = value;
  for (std::size_t i = 0; i < space.size(); ++i) put(filled, space[i].parts, values.at(i));
  return read_document(filled, file_name, base.folder, *base.types);
}

std::optional<ModelSpec> SweepDocument::spec_with(const std::vector<Value>& values) const {
  const Card& model = card_named(base, model_to_train(card_named(base, train_card)).card);
  if (model.kind->spec == nullptr) return std::nullopt;
  const Value* written = value.find("cards")->find(model.id)->find("config");
  Value settings = written == nullptr || written->is_null() ? Value(Value::Map{}) : *written;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const std::vector<std::string>& parts = space[i].parts;
    if (parts.at(1) == model.id) put(settings, {parts.begin() + 3, parts.end()}, values.at(i));
  }
  return model.kind->spec(settings);
}

std::string SweepDocument::to_yaml() const {
  Value document = config::parse_yaml(base.to_yaml(), file_name);
  for (const SearchedSetting& setting : space) put(document, setting.parts, setting.written);
  document.set("sweep", config::write(config));
  return config::to_yaml(document);
}

SweepDocument read_sweep(const Value& written, const std::string& file_name,
                         const std::filesystem::path& folder, const CardTypes& types) {
  Diagnostics diagnostics(file_name);
  return read_sweep(written, file_name, folder, types, diagnostics);
}

SweepDocument read_sweep(const Value& written, const std::string& file_name,
                         const std::filesystem::path& folder, const CardTypes& types,
                         Diagnostics& diagnostics) {
  SweepDocument sweep;
  sweep.value = in_todays_form(written, types, diagnostics);
  sweep.file_name = file_name;
  sweep.space = read_space(sweep.value, types, diagnostics);
  Diagnostics said_below("");  // when the document is read
  if (const Value* section = sweep.value.find("sweep"))
    sweep.config = config::read<SweepConfig>(*section, "sweep", said_below);
  if (said_below.empty()) check_strategy(sweep.value, sweep.config, sweep.space, diagnostics);
  for (const SearchedSetting& setting : sweep.space) put(sweep.value, setting.parts, setting.first());
  take_space_out(sweep.value);  // what is wrong and has been said
  sweep.base = read_document(sweep.value, types, diagnostics);
  check_inner_values(sweep, diagnostics);
  diagnostics.refuse_if_any();
  finish_reading(sweep.base, file_name, folder);
  sweep.train_card = only_training_card(sweep.base, file_name);
  check_scoring(sweep);
  if (sweep.config.refit == Refit::all)
    if (const std::string problem = problem_with_all_rows(sweep.base, sweep.train_card); !problem.empty())
      refuse("{}: sweep.refit is all, but {}; use training", file_name, problem);
  if (sweep.candidate_count() > most_trainings / std::max<std::int64_t>(1, sweep.config.folds))
    refuse("{}: {} candidates on {} folds are more than {} trainings, the maximum", file_name,
           sweep.candidate_count(), sweep.config.folds, most_trainings);
  return sweep;
}

SweepDocument load_sweep(const std::filesystem::path& path, const std::vector<std::string>& assignments) {
  Diagnostics diagnostics(path.string());
  return read_sweep(load_with(assignments, path, card_types(), diagnostics), path.string(),
                    path.parent_path());
}

}  // namespace stoker
