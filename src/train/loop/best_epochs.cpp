#include "train/loop/best_epochs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "predict/measure/metrics.h"

namespace stoker {

std::optional<EpochScore> score_of_last_epoch(const TrainingPlan& plan, const Progress& progress) {
  if (progress.epochs.empty()) return std::nullopt;
  const EpochRecord& last = progress.epochs.back().record;
  if (progress.next_step != (last.epoch + 1) * plan.steps_per_epoch) return std::nullopt;
  EpochScore score{last.epoch, plan.config.early_stopping_metric};
  if (score.metric == validation_loss_metric) {
    if (!last.validation_loss) return std::nullopt;
    score.value = *last.validation_loss;
  } else {
    const std::string name = fmt::format("validation_{}", score.metric);
    const auto found = std::ranges::find(last.values, name, &NamedValue::name);
    if (found == last.values.end()) return std::nullopt;
    score.value = found->value;
    score.higher_is_better = find_metric(score.metric)->higher_is_better;
  }
  return std::isnan(score.value) ? std::nullopt : std::optional(score);
}

BestEpochs::BestEpochs(std::int64_t most, std::vector<EpochScore> known)
    : most_(static_cast<std::size_t>(most)) {
  for (const EpochScore& each : known) admit(each);
}

// An epoch that comes again, in a training that went back behind it, takes the place of its first coming. Of
// two that are as good, the earlier one stays.
bool BestEpochs::admit(const EpochScore& score) {
  std::erase_if(scores_, [&](const EpochScore& each) { return each.epoch == score.epoch; });
  const auto worse =
      std::ranges::find_if(scores_, [&](const EpochScore& each) { return score.is_better_than(each); });
  scores_.insert(worse, score);
  if (scores_.size() > most_) scores_.pop_back();
  return holds(score.epoch);
}

bool BestEpochs::holds(std::int64_t epoch) const {
  return std::ranges::find(scores_, epoch, &EpochScore::epoch) != scores_.end();
}

}  // namespace stoker
