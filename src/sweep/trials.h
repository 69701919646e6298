#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sweep/candidates.h"
#include "sweep/results.h"

namespace stoker {

enum class TrialStatus { finished, pruned, diverged, failed, time_limit, not_run };
std::string_view status_name(TrialStatus status);

// One candidate and how it did.
struct Trial {
  std::size_t number = 0;  // from 1
  Candidate values;
  TrialStatus status = TrialStatus::not_run;
  std::string reason;           // of diverged and failed
  std::optional<double> score;  // mean over the folds
  double spread = 0;            // standard deviation over the folds (divided by their number)
  std::vector<double> fold_scores;
  std::int64_t epochs = 0;  // the most of any fold
  double seconds = 0;       // trained, over all folds
};

// What the results say of a candidate up to a rung; pruned is not known here.
Trial trial_of(std::size_t index, const Candidate& values, std::int64_t folds, std::int64_t rung,
               const Results& results);

// Whether a is better than b; one with a score is better than one without, and the earlier of two equal ones.
bool is_better(const Trial& a, const Trial& b, bool higher_is_better);

// A value as people write it: 0.001, [64, 32], relu.
std::string value_text(const config::Value& value);

// trials.csv: a line per candidate in the order of their numbers.
std::string trials_csv(const std::vector<SearchedSetting>& space, const std::vector<Trial>& trials);
nlohmann::json trials_json(const std::vector<SearchedSetting>& space, const std::vector<Trial>& trials);

}  // namespace stoker
