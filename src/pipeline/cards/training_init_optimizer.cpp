#include "config/usual_bounds.h"
#include "pipeline/cards/training_parts.h"

namespace stoker::cards {
namespace {

struct InitOptimizerSettings {
  StepOptimizerKind optimizer_type = StepOptimizerKind::adam;
  double learning_rate = 0.001;
  double weight_decay = 0;
  double momentum = 0;
};

config::Fields fields(InitOptimizerSettings& c) {
  return {
      config::field("optimizer_type", c.optimizer_type, "How gradients change the weights"),
      config::field("learning_rate", c.learning_rate, "Size of a step")
          .above(0)
          .within(0, config::highest_learning_rate),
      config::field("weight_decay", c.weight_decay,
                    "Pull of the weights towards 0: decoupled for adamw and lion, else added to the gradient")
          .within(0, config::highest_weight_decay),
      config::field("momentum", c.momentum, "Momentum of sgd").at_least(0).below(1)};
}

PortValues init_optimizer(const CardContext& context) {
  const auto chosen = settings_of<InitOptimizerSettings>(context.config);
  const StepNetwork network = network_from(arrays_at(context, "model"));
  OptimizerSettings settings;
  settings.momentum = chosen.optimizer_type == StepOptimizerKind::sgd ? chosen.momentum : 0;
  settings.weight_decay = chosen.weight_decay;
  // As its paper has it, and as torch.optim.RMSprop has it.
  if (chosen.optimizer_type == StepOptimizerKind::lion || chosen.optimizer_type == StepOptimizerKind::rmsprop)
    settings.beta2 = 0.99;
  const StepOptimizer optimizer =
      begun_optimizer(chosen.optimizer_type, settings, chosen.learning_rate, network);
  return {{"optimizer", part_of_step(optimizer)},
          {"model", part_of_step(network)},
          {"optimizer_info", report_of_step(optimizer_report(optimizer))}};
}

}  // namespace

CardType training_init_optimizer() {
  return {.name = "training_init_optimizer",
          .title = "Begin with the optimizer",
          .help = "Makes what changes the weights, with nothing yet to remember of earlier steps.",
          .inputs = {{"model", PortType::network, "The model whose weights it is to change"}},
          .outputs = {{"optimizer", PortType::optimizer, "The optimizer"},
                      {"model", PortType::network, "The model as it came"},
                      {"optimizer_info", PortType::report, "Its settings and its state", Keep::report}},
          .file_settings = {},
          .describe = described<InitOptimizerSettings>,
          .check = checked<InitOptimizerSettings>,
          .run = init_optimizer};
}

}  // namespace stoker::cards
