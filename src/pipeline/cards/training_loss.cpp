#include "config/usual_bounds.h"
#include "pipeline/cards/training_parts.h"

namespace stoker::cards {
namespace {

struct StepLossSettings {
  StepLossKind loss_type = StepLossKind::automatic;
  double huber_delta = 1;
  double quantile = 0.5;
};

config::Fields fields(StepLossSettings& c) {
  return {config::field("loss_type", c.loss_type,
                        "What is to become small; auto: mse for quantities, cross-entropy for classes"),
          config::field(
              "huber_delta", c.huber_delta,
              "loss_type huber: where it turns from squared to linear, in standard deviations of the target")
              .above(0)
              .within(0, config::largest_huber_delta),
          config::field("quantile", c.quantile,
                        "loss_type quantile: the share of the rows that is to lie below the prediction")
              .above(0)
              .below(1)};
}

StepNumbers predictions_in(const NamedArrays& arrays) {
  const auto values = find_array(arrays, "predictions").as<double>();
  return {values.begin(), values.end()};
}

PortValues calculate_loss(const CardContext& context) {
  const auto settings = settings_of<StepLossSettings>(context.config);
  const StepBatch batch = batch_from(arrays_at(context, "batch_data"));
  const StepNumbers outputs = predictions_in(arrays_at(context, "predictions"));
  LossTerm term;
  term.huber_delta = settings.huber_delta;
  term.quantile = settings.quantile;
  const StepLoss loss = loss_of(batch, outputs, settings.loss_type, term);
  return {{"loss", part_of_step(loss)}, {"loss_value", report_of_step(loss_report(batch, outputs, loss))}};
}

}  // namespace

CardType training_loss() {
  return {.name = "training_loss",
          .title = "Calculate the loss",
          .help =
              "Says by how much the predictions are off: for each row, and in the mean, which training makes "
              "small.",
          .inputs = {{"predictions", PortType::arrays, "What the forward pass predicted"},
                     {"batch_data", PortType::batch, "The rows with their targets"}},
          .outputs = {{"loss", PortType::arrays, "The loss, with its slope by every prediction"},
                      {"loss_value", PortType::report, "The loss of each row and the mean", Keep::report}},
          .file_settings = {},
          .describe = described<StepLossSettings>,
          .check = checked<StepLossSettings>,
          .run = calculate_loss};
}

}  // namespace stoker::cards
