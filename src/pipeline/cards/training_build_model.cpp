#include "pipeline/cards/training_parts.h"

namespace stoker::cards {
namespace {

struct BuildModelSettings {
  std::int64_t input_size = 13;
};

config::Fields fields(BuildModelSettings& c) {
  return {config::field("input_size", c.input_size,
                        "Numbers that the model reads of a row; those of the batch where it is connected")
              .within(1, 65536)};
}

// Without a batch it answers each row with one number.
Network network_to_build(const ModelSpec& spec, const BuildModelSettings& settings, const StepBatch* batch) {
  if (spec.is_solved())
    refuse("{} is solved in one go, without training steps; define a neural_network", spec.family);
  Network network{spec.family, spec.settings, {table_features(DType::float32, settings.input_size)}, 1};
  if (batch == nullptr) return network;
  network.inputs = {table_features(DType::float32, batch->data.features().dimension(1))};
  network.outputs = batch->outputs();
  return network;
}

PortValues build_model(const CardContext& context) {
  const auto settings = settings_of<BuildModelSettings>(context.config);
  const auto& spec = input<ModelSpec>(context, "model_spec");
  std::optional<StepBatch> batch;
  if (context.inputs.contains("batch_data")) batch = batch_from(arrays_at(context, "batch_data"));
  const Network network = network_to_build(spec, settings, batch ? &*batch : nullptr);
  if (mlp_shape(network) &&
      settings_as<MlpSettings>(spec.settings).entrance.number_embedding != NumberEmbedding::none)
    refuse("the cards of a training step read numbers as they are: set number_embedding to none");
  const StepNetwork built = built_network(network, spec.training.seed, nullptr);
  return {{"model", part_of_step(built)}, {"model_info", report_of_step(network_report(built))}};
}

}  // namespace

CardType training_build_model() {
  return {
      .name = "training_build_model",
      .title = "Build the model",
      .help = "Lays out the layers of a neural network, with the small random weights that it begins with.",
      .inputs = {{"model_spec", PortType::model_spec, "The model to build"},
                 {"batch_data", PortType::batch,
                  "Rows that it is to read, by which its first and last layer are made", Rows::read,
                  Takes::at_most_one}},
      .outputs = {{"model", PortType::network, "The layers with their weights"},
                  {"model_info", PortType::report, "Layers, shapes and weights", Keep::report}},
      .file_settings = {},
      .describe = described<BuildModelSettings>,
      .check = checked<BuildModelSettings>,
      .run = build_model};
}

}  // namespace stoker::cards
