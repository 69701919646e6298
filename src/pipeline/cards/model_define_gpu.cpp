#include "pipeline/cards/cards.h"
#include "pipeline/model_definition.h"

namespace stoker::cards {
namespace {

config::Value check_trained(const config::Value& config, const std::string& path,
                            config::Diagnostics& diagnostics) {
  return stoker::settings_of(read_trained(config, path, diagnostics));
}

ModelSpec trained_spec(const config::Value& config) {
  config::Diagnostics diagnostics("");
  ModelSpec spec = read_trained(config, "", diagnostics);
  diagnostics.refuse_if_any();
  return spec;
}

PortValues define_trained(const CardContext& context) {
  return {{"model_spec", trained_spec(context.config)}};
}

}  // namespace

CardType model_define_gpu() {
  return {
      .name = "model_define_gpu",
      .title = "Define a neural network",
      .help =
          "Chooses a neural network and how it is trained. Runs on a GPU, or on the CPU where there is none.",
      .inputs = {},
      .outputs = {{"model_spec", PortType::model_spec, "The model, not yet trained"}},
      .file_settings = {},
      .describe = describe_trained,
      .check = check_trained,
      .run = define_trained,
      .spec = trained_spec,
      .reference = reference_of_trained};
}

}  // namespace stoker::cards
