#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/commands_flag.h"
#include "cli/view/terminal.h"
#include "pipeline/cache/known_columns.h"
#include "pipeline/document/document.h"
#include "pipeline/document/seed_form.h"
#include "pipeline/document/sweep_document.h"

namespace stoker::cli {
namespace {

struct ValidateOptions {
  std::string document;
  std::vector<std::string> assignments;
  bool json = false;
};

nlohmann::json as_json(const Document& document) {
  nlohmann::json cards = nlohmann::json::array();
  for (const Card& card : document.cards) cards.push_back({{"id", card.id}, {"type", card.type}});
  return {{"valid", true},
          {"name", document.name},
          {"cards", cards},
          {"errors", nlohmann::json::array()},
          {"notes", document.notes}};
}

std::string as_text(const ValidateOptions& options, const Document& document) {
  std::vector<std::string> order;
  for (const Card& card : document.cards) order.push_back(card.id);
  std::string text = fmt::format("{} is valid: {}, run in this order: {}\n", options.document,
                                 counted(order.size(), "card"), join(order, ", "));
  for (const std::string& note : document.notes) text += note + "\n";
  return text;
}

std::string as_text(const ValidateOptions& options, const SweepDocument& sweep) {
  std::vector<std::string> searched;
  for (const SearchedSetting& setting : sweep.space) searched.push_back(setting.path());
  return fmt::format("{} is valid: stoker sweep tries {}, searching {}\n", options.document,
                     counted(static_cast<std::uint64_t>(sweep.candidate_count()), "candidate"),
                     join(searched, ", "));
}

// A document with searched settings is one for stoker sweep.
std::optional<SweepDocument> sweep_in(const ValidateOptions& options) {
  config::Diagnostics diagnostics(options.document);
  config::Value value = in_todays_form(
      load_with(options.assignments, options.document, card_types(), diagnostics), card_types(), diagnostics);
  if (take_space_out(value).empty()) return std::nullopt;
  return load_sweep(options.document, options.assignments);
}

// Names of datasets and columns, as far as records tell them, and of cubes their files.
void check_names(const ValidateOptions& options, Document& document) {
  const KnownNames known = known_names(document, nullptr, FilesOfSources::looked_at);
  config::Diagnostics diagnostics(options.document);
  for (const config::Diagnostic& each : known.no_columns) diagnostics.add(each.line, each.path, each.message);
  diagnostics.refuse_if_any();
  for (const auto* found : {&known.no_sources, &known.no_masks})
    for (const config::Diagnostic& each : *found)
      document.notes.push_back(fmt::format("{}: {}", each.path, each.message));
}

ExitCode validate(const ValidateOptions& options) {
  try {
    const std::optional<SweepDocument> sweep = sweep_in(options);
    Document document = sweep ? sweep->base : load_pipeline(options.document, options.assignments);
    check_names(options, document);
    if (sweep && !options.json) {
      print(as_text(options, *sweep));
    } else if (options.json) {
      nlohmann::json json = as_json(document);
      if (sweep) json["candidates"] = sweep->candidate_count();
      print_json(json);
    } else {
      print(as_text(options, document));
    }
    return ExitCode::done;
  } catch (const Error& error) {
    if (!options.json) throw;
    print_json({{"valid", false}, {"errors", split_text(error.what(), '\n')}});
    return error.code();
  }
}

}  // namespace

Action declare_validate(CLI::App& app) {
  const auto options = std::make_shared<ValidateOptions>();
  app.add_option("DOC", options->document, "Pipeline document, YAML or JSON")->required();
  app.add_option("--set", options->assignments, "PATH=VALUE: change a setting first; may be repeated")
      ->allow_extra_args(false);
  add_commands_flag(app);
  app.add_flag("--json", options->json, "Print one JSON object: valid, cards, errors");
  app.footer(
      "Examples:\n"
      "  stoker validate examples/boston_housing.yaml\n"
      "  stoker validate pipeline.yaml --set cards.model.config.epochs=5");
  return [options] { return validate(*options); };
}

}  // namespace stoker::cli
