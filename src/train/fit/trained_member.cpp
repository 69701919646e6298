#include "train/fit/trained_member.h"

#include <algorithm>
#include <utility>

#include "predict/rows/predictions.h"
#include "train/choose/choose_decision.h"

namespace stoker {

HeldBackRows held_back_by(const Model& member, const Table& held_back, std::vector<std::int64_t> rows) {
  const Preparation& preparation = member.preparation;
  if (preparation.task() == Task::regression &&
      rows.size() > most_held_back_values / static_cast<std::size_t>(preparation.steps()))
    return {};
  if (preparation.task() == Task::regression)
    return {std::move(rows), preparation.real_targets(held_back), predict(member, held_back).values};
  if (rows.size() > most_held_back_values / preparation.classes().size()) return {};
  Predictions predictions = predict(member, held_back);
  if (predictions.probabilities.empty()) return {};
  const std::vector<std::int64_t> actual = preparation.class_targets(held_back);
  return {std::move(rows), {actual.begin(), actual.end()}, std::move(predictions.probabilities)};
}

void tell_of_steps(const std::vector<TrainedMember>& members, FitResult& result) {
  result.precision = members.front().precision;
  result.batch_size = members.front().batch_size;
  result.learning_rate = members.front().learning_rate;
  for (const TrainedMember& each : members) {
    if (each.memory.peak > result.memory.peak) result.memory = each.memory;
    for (const std::string& said : each.adjustments)
      if (std::ranges::find(result.adjustments, said) == result.adjustments.end())
        result.adjustments.push_back(said);
  }
}

std::vector<EpochReport> mean_epochs(const std::vector<TrainedMember>& members) {
  std::vector<EpochReport> mean;
  std::vector<double> counts;
  for (const TrainedMember& member : members) {
    for (std::size_t i = 0; i < member.epochs.size(); ++i) {
      const EpochReport& own = member.epochs[i];
      if (i == mean.size()) {
        mean.emplace_back().record.epoch = static_cast<std::int64_t>(i);
        counts.push_back(0);
      }
      EpochReport& sum = mean[i];
      counts[i] += 1;
      sum.record.train_loss += own.record.train_loss;
      if (own.record.validation_loss)
        sum.record.validation_loss = sum.record.validation_loss.value_or(0) + *own.record.validation_loss;
      sum.learning_rate += own.learning_rate;
      sum.seconds += own.seconds;
      sum.rows_per_second += own.rows_per_second;
      sum.memory_bytes = std::max(sum.memory_bytes, own.memory_bytes);
      if (own.record.gradient_norm)
        sum.record.gradient_norm = sum.record.gradient_norm.value_or(0) + *own.record.gradient_norm;
    }
  }
  for (std::size_t i = 0; i < mean.size(); ++i) {
    EpochRecord& record = mean[i].record;
    record.train_loss /= counts[i];
    if (record.validation_loss) *record.validation_loss /= counts[i];
    if (record.gradient_norm) *record.gradient_norm /= counts[i];
    for (double* each : {&mean[i].learning_rate, &mean[i].seconds, &mean[i].rows_per_second})
      *each /= counts[i];
  }
  return mean;
}

}  // namespace stoker
