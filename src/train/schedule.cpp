#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "predict/metrics.h"
#include "train/training.h"

namespace stoker {
namespace {

// A validation set is what these settings look at; without one they would silently do nothing.
void check_validation(const TrainingSettings& config, const auto& add) {
  if (config.validation_ratio > 0) return;
  if (config.schedule == Schedule::plateau)
    add("schedule",
        "plateau watches the validation loss, but validation_ratio is 0; set validation_ratio, for "
        "example to 0.1, or choose another schedule");
  if (config.early_stopping_patience > 0)
    add("early_stopping_patience",
        "early stopping watches the validation loss, but validation_ratio is 0; set "
        "validation_ratio, for example to 0.1, or early_stopping_patience to 0");
  if (config.early_stopping_metric != validation_loss_metric)
    add("early_stopping_metric",
        fmt::format("{} is computed on validation rows, but validation_ratio is 0; set validation_ratio, for "
                    "example to 0.1, or early_stopping_metric to {}",
                    config.early_stopping_metric, validation_loss_metric));
}

double scheduled(const TrainingSettings& config, std::int64_t steps_per_epoch, std::int64_t step,
                 double plateau_factor) {
  const std::int64_t since_warmup = step - config.warmup_epochs * steps_per_epoch;
  switch (config.schedule) {
    case Schedule::constant:
      break;
    case Schedule::cosine: {
      const std::int64_t length = (config.epochs - config.warmup_epochs) * steps_per_epoch;
      const double share = std::min(
          1.0, static_cast<double>(since_warmup) / static_cast<double>(std::max<std::int64_t>(length, 1)));
      return config.min_learning_rate + (config.learning_rate - config.min_learning_rate) * 0.5 *
                                            (1 + std::cos(std::numbers::pi * share));
    }
    case Schedule::step: {
      const std::int64_t cuts = since_warmup / steps_per_epoch / config.step_epochs;
      return config.learning_rate * std::pow(config.step_factor, static_cast<double>(cuts));
    }
    case Schedule::plateau:
      return std::max(config.learning_rate * plateau_factor, config.min_learning_rate);
  }
  return config.learning_rate;
}

}  // namespace

std::vector<std::string> stopping_metric_names() {
  std::vector<std::string> names{validation_loss_metric};
  for (const Metric& each : metrics()) names.emplace_back(each.name);
  return names;
}

void check(const TrainingSettings& config, const std::string& path, config::Diagnostics& diagnostics,
           const config::Value* written) {
  const auto add = [&](const char* setting, std::string message) {
    const config::Value* value = written != nullptr ? written->find(setting) : nullptr;
    const int line = value != nullptr ? value->line() : written != nullptr ? written->line() : 0;
    diagnostics.add(line, path.empty() ? setting : path + "." + setting, std::move(message));
  };
  check_validation(config, add);
  if (config.quantile != TrainingSettings{}.quantile && config.loss != LossChoice::quantile)
    add("quantile", fmt::format("it is {}, but loss is {}, which has none; set loss to quantile",
                                config.quantile, config::name_of(config.loss)));
  if (config.warmup_epochs > config.epochs)
    add("warmup_epochs", fmt::format("a warm-up of {} epochs is longer than the training; epochs is {}",
                                     config.warmup_epochs, config.epochs));
  const bool ends_at_least = config.schedule == Schedule::cosine || config.schedule == Schedule::plateau;
  if (ends_at_least && config.min_learning_rate > config.learning_rate)
    add("min_learning_rate",
        fmt::format("{} is above learning_rate, which is {}; the schedule goes down from "
                    "learning_rate to min_learning_rate",
                    config.min_learning_rate, config.learning_rate));
}

float learning_rate_at(const TrainingSettings& config, std::int64_t steps_per_epoch, std::int64_t step,
                       double plateau_factor) {
  const std::int64_t warmup = config.warmup_epochs * steps_per_epoch;
  if (step >= warmup) return static_cast<float>(scheduled(config, steps_per_epoch, step, plateau_factor));
  // The first step already learns, and the last step of warm-up has the whole rate.
  return static_cast<float>(config.learning_rate * static_cast<double>(step + 1) /
                            static_cast<double>(warmup));
}

bool keeps_its_rate(const TrainingSettings& config, std::int64_t steps_per_epoch, std::int64_t step) {
  return step >= config.warmup_epochs * steps_per_epoch &&
         (config.schedule == Schedule::constant || config.schedule == Schedule::plateau);
}

}  // namespace stoker
