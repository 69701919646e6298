#include "config/usual_bounds.h"
#include "pipeline/cards/training_parts.h"

namespace stoker::cards {
namespace {

struct OptimizerStepSettings {
  double gradient_clip = 0;
};

config::Fields fields(OptimizerStepSettings& c) {
  return {config::field("gradient_clip", c.gradient_clip,
                        "Gradients that are longer than this together are shortened to it; 0: never")
              .within(0, config::longest_gradient)};
}

PortValues optimizer_step(const CardContext& context) {
  const auto settings = settings_of<OptimizerStepSettings>(context.config);
  StepOptimizer optimizer = optimizer_from(arrays_at(context, "optimizer"));
  StepNetwork network = network_from(arrays_at(context, "model"));
  optimizer.settings.max_grad_norm = settings.gradient_clip;
  const StepChange change = take_step(optimizer, network);
  return {{"model", part_of_step(network)},
          {"optimizer", part_of_step(optimizer)},
          {"step_info", report_of_step(change_report(change, network, optimizer))}};
}

}  // namespace

CardType training_optimizer_step() {
  return {
      .name = "training_optimizer_step",
      .title = "Take the step",
      .help =
          "Changes every weight a little against its gradient. The model that it puts out may go forward "
          "with "
          "the next batch.",
      .inputs = {{"optimizer", PortType::optimizer, "The optimizer"},
                 {"model", PortType::network, "The model with its gradients"}},
      .outputs = {{"model", PortType::network, "The model with its new weights"},
                  {"optimizer", PortType::optimizer, "The optimizer, with what it remembers of the step"},
                  {"step_info", PortType::report, "Weights before and after, and the change", Keep::report}},
      .file_settings = {},
      .describe = described<OptimizerStepSettings>,
      .check = checked<OptimizerStepSettings>,
      .run = optimizer_step};
}

}  // namespace stoker::cards
