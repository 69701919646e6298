#include "pipeline/cards/training_parts.h"

namespace stoker::cards {
namespace {

struct ForwardSettings {
  std::int64_t batch_index = 0;
};

config::Fields fields(ForwardSettings& c) {
  return {config::field("batch_index", c.batch_index, "Which batch this is, for people; it changes nothing")
              .within(0, 1e9)};
}

PortValues forward_pass(const CardContext& context) {
  const StepBatch batch = batch_from(arrays_at(context, "batch_data"));
  StepNetwork network = network_from(arrays_at(context, "model"));
  pass_forward(batch, network);
  const Shape shape{network.rows, network.network.outputs};
  return {{"predictions", std::make_shared<const NamedArrays>(
                              NamedArrays{{"predictions", Array::from<double>(network.outputs(), shape)}})},
          {"model", part_of_step(network)},
          {"forward_info", report_of_step(forward_report(batch, network))}};
}

}  // namespace

CardType training_forward() {
  return {
      .name = "training_forward",
      .title = "Pass forward",
      .help =
          "Lets the rows of the batch pass through the layers, with dropout as in training. The last layer's "
          "outputs are the predictions.",
      .inputs = {{"model", PortType::network, "The model"}, {"batch_data", PortType::batch, "The rows"}},
      .outputs = {{"predictions", PortType::arrays, "Outputs of the last layer, for each row"},
                  {"model", PortType::network, "The model with what every layer made of the rows"},
                  {"forward_info", PortType::report, "Predictions, and what every layer made of the rows",
                   Keep::report}},
      .file_settings = {},
      .passing_settings = {"batch_index"},
      .describe = described<ForwardSettings>,
      .check = checked<ForwardSettings>,
      .run = forward_pass};
}

}  // namespace stoker::cards
