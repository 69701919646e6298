#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "pipeline/model_definition.h"

namespace stoker::cards {
namespace {

config::Value check_gpu_definition(const config::Value& config, const std::string& path,
                                   config::Diagnostics& diagnostics) {
  return stoker::settings_of(read_network(config, path, diagnostics));
}

PortValues define_for_gpu(const CardContext& context) {
  config::Diagnostics diagnostics("");
  const NetworkSpec spec = read_network(context.config, "", diagnostics);
  diagnostics.refuse_if_any();
  return {{"model_spec", ModelSpec(spec)}};
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
      .describe = described<NetworkDefinition>,
      .check = check_gpu_definition,
      .run = define_for_gpu};
}

}  // namespace stoker::cards
