#include "pipeline/cards/training_parts.h"

namespace stoker::cards {
namespace {

struct ZeroGradSettings {};

config::Fields fields(ZeroGradSettings&) {
  return {};
}

PortValues zero_grad(const CardContext& context) {
  StepOptimizer optimizer = optimizer_from(arrays_at(context, "optimizer"));
  clear_gradients(optimizer);
  return {{"optimizer", part_of_step(optimizer)},
          {"cleared_info", report_of_step(cleared_report(optimizer))}};
}

}  // namespace

CardType training_zero_grad() {
  return {
      .name = "training_zero_grad",
      .title = "Clear the gradients",
      .help = "Forgets the gradients of the step before; otherwise those of the next would be added to them.",
      .inputs = {{"optimizer", PortType::optimizer, "The optimizer"}},
      .outputs = {{"optimizer", PortType::optimizer, "The optimizer, ready for the next gradients"},
                  {"cleared_info", PortType::report, "The gradients, all 0", Keep::report}},
      .file_settings = {},
      .describe = described<ZeroGradSettings>,
      .check = checked<ZeroGradSettings>,
      .run = zero_grad};
}

}  // namespace stoker::cards
