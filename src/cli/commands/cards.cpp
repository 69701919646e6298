#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/commands_flag.h"
#include "cli/view/terminal.h"
#include "pipeline/card/card.h"
#include "pipeline/document/document.h"

namespace stoker::cli {
namespace {

struct CardsOptions {
  std::string type;
  bool json = false;
  bool reference = false;
};

const CardType& card_type_named(const std::string& name) {
  if (const CardType* found = find_card_type(card_types(), name)) return *found;
  const std::vector<std::string> names = type_names(card_types());
  refuse("'{}' is not a card type{}; available: {}", name, did_you_mean(name, names), join(names, ", "));
}

std::string list_of_types() {
  std::vector<std::vector<std::string>> rows;
  for (const CardType& type : card_types()) rows.push_back({type.name, type.title});
  return aligned(rows);
}

template <class AnyPort>
std::string ports_text(const std::vector<AnyPort>& ports) {
  std::vector<std::vector<std::string>> rows;
  for (const AnyPort& port : ports) rows.push_back({port.name, port_text(port), port.help});
  return aligned(rows, "  ");
}

std::string default_text(const config::Field& field) {
  if (field.is_required) return "required";
  if (field.default_value.is_null()) return "not set";
  return "default " + config::to_json(field.default_value).dump();
}

// Those of a map stand below it, by their paths.
void add_settings(Pieces& text, const config::Fields& fields, const std::string& path = "") {
  for (const config::Field& field : fields) {
    const std::string allowed = config::allowed_text(field);
    text.push_back({"  "});
    text.push_back({path + field.name, Colour::bold});
    text.push_back({fmt::format("  ({}, {}{})\n      {}\n", config::type_text(field), default_text(field),
                                allowed.empty() ? "" : ", " + allowed, field.help)});
    add_settings(text, field.inner, path + field.name + ".");
  }
}

// Those that do not stand among all others already.
void add_more_settings(Pieces& text, const CardType& type, const config::Fields& shown) {
  if (type.more_settings == nullptr) return;
  for (const config::TitledSettings& more : type.more_settings()) {
    config::Fields others = more.settings.fields;
    std::erase_if(others, [&](const config::Field& field) {
      return std::ranges::find(shown, field.name, &config::Field::name) != shown.end();
    });
    if (others.empty()) continue;
    text.push_back({fmt::format("\n{}\n", more.title)});
    add_settings(text, others);
  }
}

Pieces type_page(const CardType& type) {
  Pieces text{{type.name, Colour::bold}, {fmt::format(": {}\n{}\n", type.title, type.help)}};
  if (!type.inputs.empty()) text.push_back({"\nInputs\n" + ports_text(type.inputs)});
  if (!type.outputs.empty()) text.push_back({"\nOutputs\n" + ports_text(type.outputs)});
  const config::Described settings = type.describe();
  if (settings.fields.empty()) return text;
  text.push_back({"\nSettings\n"});
  add_settings(text, settings.fields);
  add_more_settings(text, type, settings.fields);
  return text;
}

}  // namespace

Action declare_cards(CLI::App& app) {
  const auto options = std::make_shared<CardsOptions>();
  app.add_option("TYPE", options->type, "Type to show; without it, all types are listed");
  add_commands_flag(app);
  app.add_flag("--json", options->json, "Print the JSON Schema of a document, or of the type's settings");
  app.add_flag("--reference", options->reference, "Print docs/reference.md: every card with its settings");
  app.footer(
      "Examples:\n"
      "  stoker cards\n"
      "  stoker cards model_define_gpu\n"
      "  stoker cards --commands examples/commands\n"
      "  stoker cards --json > pipeline.schema.json");
  return [options] {
    if (options->reference) {
      print(reference_page());
    } else if (options->type.empty()) {
      if (options->json) {
        print_json(document_schema());
      } else {
        print(list_of_types());
      }
    } else {
      const CardType& type = card_type_named(options->type);
      if (options->json) {
        print_json(config::json_schema(type.describe().fields));
      } else {
        print(type_page(type));
      }
    }
    return ExitCode::done;
  };
}

}  // namespace stoker::cli
