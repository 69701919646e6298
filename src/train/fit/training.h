#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/field.h"
#include "config/usual_bounds.h"
#include "config/value.h"
#include "engine/engine.h"

namespace stoker {

enum class Schedule { constant, cosine, step, plateau, exponential, one_cycle };
// What a regression makes small; classes have the cross-entropy.
enum class LossChoice { automatic, mse, huber, quantile };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 6> stoker::config::names<stoker::Schedule>{
    "constant", "cosine", "step", "plateau", "exponential", "one_cycle"};
template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::LossChoice>{
    "auto", "mse", "huber", "quantile"};

namespace stoker {

// In place of a metric of predict/measure/metrics.h.
constexpr const char* validation_loss_metric = "loss";
// It, and every metric that there is.
std::vector<std::string> stopping_metric_names();

// In place of a number of rows: whoever trains tries a few.
constexpr std::int64_t automatic_batch = 0;

// How a network is trained, whatever its family.
struct TrainingSettings {
  LossChoice loss = LossChoice::automatic;
  double huber_delta = 1;
  double quantile = 0.5;
  double label_smoothing = 0;
  Optimizer optimizer = Optimizer::adam;
  double learning_rate = 0.001;
  double momentum = 0.9;
  double weight_decay = 0;
  double max_grad_norm = 0;
  Schedule schedule = Schedule::constant;
  std::int64_t warmup_epochs = 0;
  double min_learning_rate = 0;
  std::int64_t step_epochs = 10;
  double step_factor = 0.1;
  double epoch_factor = 0.95;
  std::int64_t plateau_patience = 5;
  std::int64_t epochs = 50;
  std::int64_t batch_size = 32;
  std::int64_t accumulation_steps = 1;
  double weight_average = 0;
  bool checkpoint_activations = false;
  double validation_ratio = 0;
  std::vector<std::int64_t> validation_ids;
  std::int64_t early_stopping_patience = 0;
  double early_stopping_min_delta = 0;
  std::string early_stopping_metric = validation_loss_metric;
  std::uint64_t seed = 42;

  bool sets_rows_aside() const { return validation_ratio > 0 || !validation_ids.empty(); }
};

inline std::optional<config::Value> batch_of_automatic(const config::Value& given) {
  const bool* chooses = given.get_if<bool>();
  if (chooses == nullptr) return given;
  if (!*chooses) return std::nullopt;
  return config::Value(std::string("auto"), given.line());
}

inline config::Fields fields(TrainingSettings& c) {
  config::Field metric = config::field(
      "early_stopping_metric", c.early_stopping_metric,
      "What stops the training and chooses the best weights; loss is the validation loss, all others are "
      "computed on the validation rows in real units, after every epoch");
  metric.choices = stopping_metric_names();
  return {
      config::field(
          "loss", c.loss,
          "What training minimises; auto: mse for quantities, cross-entropy for classes; huber, "
          "for quantities, is less sensitive to outliers; quantile predicts the value below which a given "
          "share of the rows lies")
          .changes_loss(),
      config::field("huber_delta", c.huber_delta,
                    "loss huber: where it turns from squared to linear, in standard deviations of the target")
          .above(0)
          .within(0, config::largest_huber_delta)
          .changes_loss(),
      config::field("quantile", c.quantile,
                    "loss quantile: the share of the rows that is to lie below the prediction, for example "
                    "0.9; 0.5: the median")
          .above(0)
          .below(1)
          .changes_loss(),
      config::field("label_smoothing", c.label_smoothing,
                    "Classes: the share of every row's class that is spread evenly over all classes, for "
                    "example 0.1, so that the network does not become too sure; the validation loss is "
                    "without it")
          .at_least(0)
          .below(1)
          .changes_loss(),
      config::field("optimizer", c.optimizer, "How gradients change the weights"),
      config::field("learning_rate", c.learning_rate, "Size of a step, after warm-up and before decay")
          .above(0)
          .within(0, config::highest_learning_rate),
      config::field("momentum", c.momentum, "Momentum of sgd").at_least(0).below(1),
      config::field("weight_decay", c.weight_decay,
                    "Pull of the weights towards 0: decoupled for adamw and lion, else added to the gradient")
          .within(0, config::highest_weight_decay),
      config::field("max_grad_norm", c.max_grad_norm,
                    "Gradients longer than this are shortened to it; 0: never")
          .within(0, config::longest_gradient),
      config::field("schedule", c.schedule,
                    "How the learning rate changes; plateau needs validation_ratio or an ensemble; one_cycle "
                    "rises for 30 % of the training and falls for the rest, with no other warm-up"),
      config::field("warmup_epochs", c.warmup_epochs, "Epochs over which the learning rate rises from 0")
          .within(0, config::most_epochs),
      config::field("min_learning_rate", c.min_learning_rate,
                    "Learning rate at which cosine, plateau, exponential and one_cycle end")
          .within(0, config::highest_learning_rate),
      config::field("step_epochs", c.step_epochs, "schedule step: epochs between two cuts")
          .within(1, config::most_epochs),
      config::field("step_factor", c.step_factor,
                    "schedule step and plateau: factor by which a cut lowers the rate")
          .above(0)
          .within(0, 1),
      config::field("epoch_factor", c.epoch_factor,
                    "schedule exponential: factor by which every epoch lowers the rate")
          .above(0)
          .below(1),
      config::field("plateau_patience", c.plateau_patience,
                    "schedule plateau: epochs without a better validation loss before a cut")
          .within(1, config::most_patience),
      config::field("epochs", c.epochs, "Number of passes over the training rows")
          .within(1, config::most_epochs),
      config::field(
          "batch_size", c.batch_size,
          "Rows per training step; auto: a few sizes are tried, the fastest one that fits is taken, and "
          "learning_rate, meant for 32 rows, is multiplied by rows / 32 for sgd and by its square "
          "root for the others")
          .within(1, 1'000'000)
          .or_word("auto", automatic_batch)
          .also_called("auto_batch_size", "called batch_size here: true is auto", batch_of_automatic),
      config::field("accumulation_steps", c.accumulation_steps,
                    "A step takes its batch in so many parts and adds up their gradients: the same step in "
                    "less memory; batch norm alone sees the parts")
          .within(1, 1'000'000),
      config::field("weight_average", c.weight_average,
                    "Decay of a moving average of the weights, for example 0.999; the average is validated "
                    "and becomes the model; 0: none")
          .at_least(0)
          .below(1),
      config::field("checkpoint_activations", c.checkpoint_activations,
                    "Compute what lies between the layers again on the way back instead of keeping it: less "
                    "memory, about a third more time; for families that can"),
      config::field(
          "validation_ratio", c.validation_ratio,
          "Share of the training rows held back to watch the training; the best weights on it are kept")
          .at_least(0)
          .below(1)
          .changes_rows(),
      config::field("validation_ids", c.validation_ids,
                    "Rows to watch the training with, in place of a share, by their number in the source, "
                    "counted from 0. "
                    "They must be among the training rows")
          .within(0, 1e15)
          .changes_rows(),
      config::field(
          "early_stopping_patience", c.early_stopping_patience,
          "Epochs without a better validation loss, or early_stopping_metric, before training stops; 0: "
          "never; needs validation_ratio or an ensemble")
          .within(0, config::most_patience),
      config::field("early_stopping_min_delta", c.early_stopping_min_delta,
                    "Smallest improvement of the validation loss that counts")
          .within(0, config::largest_loss_step),
      std::move(metric),
      config::field("seed", c.seed, "Seed of initial weights, shuffling and dropout").changes_rows(),
  };
}

// The one that is trained for, where one is.
inline std::optional<double> quantile_of(const TrainingSettings& config) {
  return config.loss == LossChoice::quantile ? std::optional(config.quantile) : std::nullopt;
}

// Settings that contradict each other, as one error each that names both. `written` is the map that they were
// read from, for its line numbers.
void check(const TrainingSettings& config, const std::string& path, config::Diagnostics& diagnostics,
           const config::Value* written = nullptr);

// Settings that look at validation rows, where there are none: a member of an ensemble has those of its fold,
// another network those of validation_ratio.
void check_validation(const TrainingSettings& config, const std::string& path,
                      config::Diagnostics& diagnostics, const config::Value* written = nullptr);

// Learning rate of each step: warm-up first, then the schedule from where warm-up ended. plateau depends on
// what happened: its factor is part of the progress.
float learning_rate_at(const TrainingSettings& config, std::int64_t steps_per_epoch, std::int64_t step,
                       double plateau_factor);
// From `step` on the rate depends on no step any more.
bool keeps_its_rate(const TrainingSettings& config, std::int64_t steps_per_epoch, std::int64_t step);

}  // namespace stoker
