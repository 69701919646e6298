#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/loop/plan.h"
#include "train/loop/progress.h"

namespace stoker {

// How good an epoch was, by what stops the training.
struct EpochScore {
  std::int64_t epoch = 0;  // from 0
  std::string metric;      // loss is the validation loss
  double value = 0;
  bool higher_is_better = false;

  bool is_better_than(const EpochScore& other) const {
    return higher_is_better ? value > other.value : value < other.value;
  }
};

// Of the epoch that `progress` stands at the end of; none within an epoch, and none without validation rows.
std::optional<EpochScore> score_of_last_epoch(const TrainingPlan& plan, const Progress& progress);

// The scores of the best epochs so far.
class BestEpochs {
 public:
  // `known` are those of earlier sittings.
  BestEpochs(std::int64_t most, std::vector<EpochScore> known = {});

  // Whether it is one of them now.
  bool admit(const EpochScore& score);
  bool holds(std::int64_t epoch) const;

 private:
  std::size_t most_;
  std::vector<EpochScore> scores_;  // best first
};

}  // namespace stoker
