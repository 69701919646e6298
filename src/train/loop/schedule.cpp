#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include <fmt/format.h>

#include "predict/measure/metrics.h"
#include "train/fit/training.h"

namespace stoker {
namespace {

// Says it at the line where the setting is written.
class SettingErrors {
 public:
  SettingErrors(const std::string& path, config::Diagnostics& diagnostics, const config::Value* written)
      : path_(path), diagnostics_(diagnostics), written_(written) {}

  void add(const char* setting, std::string message) const {
    const config::Value* value = written_ != nullptr ? written_->find(setting) : nullptr;
    const int line = value != nullptr ? value->line() : written_ != nullptr ? written_->line() : 0;
    diagnostics_.add(line, path_.empty() ? setting : path_ + "." + setting, std::move(message));
  }

 private:
  const std::string& path_;
  config::Diagnostics& diagnostics_;
  const config::Value* written_;
};

double between_by_cosine(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

// Smith and Topin (2018), with the numbers of torch.optim.lr_scheduler.OneCycleLR: from 1/25 of the rate up
// to it in 30 % of the steps and down to 1/250,000, or to min_learning_rate. Momentum stays.
double one_cycle(const TrainingSettings& config, std::int64_t total_steps, std::int64_t step) {
  const double first = config.learning_rate / 25;
  const double last = config.min_learning_rate > 0 ? config.min_learning_rate : first / 1e4;
  const double end = std::max<double>(static_cast<double>(total_steps) - 1, 0);
  const double top = 0.3 * static_cast<double>(total_steps) - 1;
  const double at = std::min(static_cast<double>(step), end);
  if (at <= top) return between_by_cosine(first, config.learning_rate, top > 0 ? at / top : 1);
  const double begin = std::max(top, 0.0);
  return between_by_cosine(config.learning_rate, last, end > begin ? (at - begin) / (end - begin) : 1);
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
      return between_by_cosine(config.learning_rate, config.min_learning_rate, share);
    }
    case Schedule::step: {
      const std::int64_t cuts = since_warmup / steps_per_epoch / config.step_epochs;
      return config.learning_rate * std::pow(config.step_factor, static_cast<double>(cuts));
    }
    case Schedule::plateau:
      return std::max(config.learning_rate * plateau_factor, config.min_learning_rate);
    case Schedule::exponential: {
      const auto epochs = static_cast<double>(since_warmup / steps_per_epoch);
      return std::max(config.learning_rate * std::pow(config.epoch_factor, epochs), config.min_learning_rate);
    }
    case Schedule::one_cycle:
      return one_cycle(config, config.epochs * steps_per_epoch, step);
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
  const SettingErrors errors(path, diagnostics, written);
  if (config.quantile != TrainingSettings{}.quantile && config.loss != LossChoice::quantile)
    errors.add("quantile", fmt::format("it is {}, but loss is {}, which has none; set loss to quantile",
                                       config.quantile, config::name_of(config.loss)));
  if (config.warmup_epochs > config.epochs)
    errors.add("warmup_epochs",
               fmt::format("a warm-up of {} epochs is longer than the training; epochs is {}",
                           config.warmup_epochs, config.epochs));
  if (config.schedule == Schedule::one_cycle && config.warmup_epochs > 0)
    errors.add("warmup_epochs",
               fmt::format("it is {}, but schedule is one_cycle, which begins with a warm-up of its own; set "
                           "warmup_epochs to 0, or use schedule cosine",
                           config.warmup_epochs));
  if (config.epoch_factor != TrainingSettings{}.epoch_factor && config.schedule != Schedule::exponential)
    errors.add("epoch_factor",
               fmt::format("it is {}, but schedule is {}, which has none; set schedule to exponential",
                           config.epoch_factor, config::name_of(config.schedule)));
  if (config.batch_size != automatic_batch && config.accumulation_steps > config.batch_size)
    errors.add(
        "accumulation_steps",
        fmt::format("a batch of {} rows cannot be taken in {} parts; lower accumulation_steps, or raise "
                    "batch_size",
                    config.batch_size, config.accumulation_steps));
  if (config.validation_ratio > 0 && !config.validation_ids.empty())
    errors.add("validation_ids", "both validation_ratio and validation_ids are set; leave one of them out");
  if (std::set(config.validation_ids.begin(), config.validation_ids.end()).size() !=
      config.validation_ids.size())
    errors.add("validation_ids", "validation_ids name a row twice");
  const bool ends_at_least = config.schedule != Schedule::constant && config.schedule != Schedule::step;
  if (ends_at_least && config.min_learning_rate > config.learning_rate)
    errors.add("min_learning_rate",
               fmt::format("{} is above learning_rate, which is {}; the schedule goes down from "
                           "learning_rate to min_learning_rate",
                           config.min_learning_rate, config.learning_rate));
}

// Without validation rows these settings would silently do nothing.
void check_validation(const TrainingSettings& config, const std::string& path,
                      config::Diagnostics& diagnostics, const config::Value* written) {
  if (config.sets_rows_aside()) return;
  const SettingErrors errors(path, diagnostics, written);
  constexpr const char* way_out =
      "set validation_ratio, for example to 0.1, train an ensemble (ensemble.folds)";
  if (config.schedule == Schedule::plateau)
    errors.add("schedule", fmt::format("plateau watches the validation loss, but validation_ratio is 0; {}, "
                                       "or choose another schedule",
                                       way_out));
  if (config.early_stopping_patience > 0)
    errors.add(
        "early_stopping_patience",
        fmt::format("early stopping watches the validation loss, but validation_ratio is 0; {}, or set "
                    "early_stopping_patience to 0",
                    way_out));
  if (config.early_stopping_metric != validation_loss_metric)
    errors.add("early_stopping_metric",
               fmt::format("{} is computed on validation rows, but validation_ratio is 0; {}, or set "
                           "early_stopping_metric to {}",
                           config.early_stopping_metric, way_out, validation_loss_metric));
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
