#include "pipeline/cards/training_parts.h"

namespace stoker::cards {
namespace {

struct BackwardSettings {
  bool retain_graph = false;
};

config::Fields fields(BackwardSettings& c) {
  return {config::field(
      "retain_graph", c.retain_graph,
      "Of documents made elsewhere; it changes nothing, since what the forward pass made is kept")};
}

PortValues backward_pass(const CardContext& context) {
  const StepLoss loss = loss_from(arrays_at(context, "loss"));
  StepNetwork network = network_from(arrays_at(context, "model"));
  pass_backward(loss, network);
  return {{"model", part_of_step(network)}, {"gradients_computed", report_of_step(backward_report(network))}};
}

}  // namespace

CardType training_backward() {
  return {.name = "training_backward",
          .title = "Pass backward",
          .help =
              "Goes back from the loss to the first layer and finds how much the loss would grow with every "
              "weight.",
          .inputs = {{"loss", PortType::arrays, "The loss of the batch"},
                     {"model", PortType::network, "The model as the forward pass left it"}},
          .outputs = {{"model", PortType::network, "The model with a gradient for every weight"},
                      {"gradients_computed", PortType::report, "The gradients and how long they are",
                       Keep::report}},
          .file_settings = {},
          .passing_settings = {"retain_graph"},
          .describe = described<BackwardSettings>,
          .check = checked<BackwardSettings>,
          .run = backward_pass};
}

}  // namespace stoker::cards
