#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "pipeline/model_definition.h"

namespace stoker::cards {
namespace {

config::Value check_definition(const config::Value& config, const std::string& path,
                               config::Diagnostics& diagnostics) {
  return stoker::settings_of(read_linear(config, path, diagnostics));
}

PortValues define(const CardContext& context) {
  config::Diagnostics diagnostics("");
  const LinearSpec spec = read_linear(context.config, "", diagnostics);
  diagnostics.refuse_if_any();
  return {{"model_spec", ModelSpec(spec)}};
}

}  // namespace

CardType model_define() {
  return {.name = "model_define",
          .title = "Define a linear model",
          .help = "Chooses a linear model and its settings. Solved in double precision on the CPU.",
          .inputs = {},
          .outputs = {{"model_spec", PortType::model_spec, "The model, not yet trained"}},
          .file_settings = {},
          .describe = described<LinearDefinition>,
          .check = check_definition,
          .run = define};
}

}  // namespace stoker::cards
