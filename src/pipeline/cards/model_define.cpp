#include "pipeline/cards/cards.h"
#include "pipeline/model_definition.h"

namespace stoker::cards {
namespace {

config::Value check_solved(const config::Value& config, const std::string& path,
                           config::Diagnostics& diagnostics) {
  return stoker::settings_of(read_solved(config, path, diagnostics));
}

ModelSpec solved_spec(const config::Value& config) {
  config::Diagnostics diagnostics("");
  ModelSpec spec = read_solved(config, "", diagnostics);
  diagnostics.refuse_if_any();
  return spec;
}

PortValues define_solved(const CardContext& context) {
  return {{"model_spec", solved_spec(context.config)}};
}

}  // namespace

CardType model_define() {
  return {.name = "model_define",
          .title = "Define a linear model",
          .help = "Chooses a linear model and its settings. Solved in double precision on the CPU.",
          .inputs = {},
          .outputs = {{"model_spec", PortType::model_spec, "The model, not yet trained"}},
          .file_settings = {},
          .describe = describe_solved,
          .check = check_solved,
          .run = define_solved,
          .spec = solved_spec,
          .reference = reference_of_solved};
}

}  // namespace stoker::cards
