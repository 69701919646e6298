#include <fmt/format.h>

#include "pipeline/card/card.h"
#include "pipeline/document/document.h"
#include "pipeline/document/document_keys.h"
#include "pipeline/run/space.h"

namespace stoker {
namespace {

template <class AnyPort>
std::string ports_table(const std::string& heading, const std::vector<AnyPort>& ports) {
  if (ports.empty()) return "";
  std::string table = fmt::format("| {} | type | meaning |\n|---|---|---|\n", heading);
  for (const AnyPort& port : ports) {
    table += fmt::format("| `{}` | {} | {} |\n", port.name, port_text(port), port.help);
  }
  return table + "\n";
}

std::string card_section(const CardType& type) {
  std::string text = fmt::format("## {}\n\n{}: {}\n\n", type.name, type.title, type.help);
  text += ports_table("input", type.inputs);
  text += ports_table("output", type.outputs);
  const config::Described settings = type.describe();
  text += settings.fields.empty() ? "No settings.\n" : config::reference_table(settings.fields);
  if (type.more_settings == nullptr) return text + "\n";
  for (const config::TitledSettings& more : type.more_settings())
    text += fmt::format("\n{}:\n\n{}", more.title, config::reference_table(more.settings.fields));
  return text + "\n";
}

std::string sweep_section() {
  SweepConfig sweep;
  return "## A sweep\n\n"
         "In a document for `stoker sweep`, any setting of a card that defines a model or trains it may be "
         "`{grid: [..]}`, `{choice: [..]}`, `{uniform: [lo, hi]}`, `{log_uniform: [lo, hi]}` or "
         "`{int_uniform: [lo, hi]}`. The section `sweep` says how they are searched:\n\n" +
         config::reference_table(fields(sweep)) + "\n";
}

}  // namespace

std::string reference_page(const CardTypes& types) {
  DocumentKeys document;
  CardKeys card;
  std::string text =
      "# Reference\n\n"
      "Every card with its inputs, outputs and settings. The program writes this page from the declarations "
      "that it reads documents with: `stoker cards --reference`.\n\n"
      "## The document\n\n";
  text += config::reference_table(fields(document));
  text += "\n## A card\n\n" + config::reference_table(fields(card)) + "\n";
  text += sweep_section();
  for (const CardType& type : types) text += card_section(type);
  text.pop_back();
  return text;
}

}  // namespace stoker
