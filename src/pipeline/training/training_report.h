#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "predict/measure/evaluation.h"
#include "store/runs.h"
#include "train/fit/fit.h"

// The report train_metrics: all that is known of a training, so that a run whose training comes from the
// cache tells the same as the one that trained. Epochs count from 1 in it.
namespace stoker {

// `rows` were trained on; the evaluation may be of fewer. `expert_use` is that of a mixture of experts.
nlohmann::json training_report(const FitResult& result, std::int64_t rows, const Evaluation& on_training_rows,
                               const std::optional<ExpertUse>& expert_use = std::nullopt);

// And back, for the run folder.
RunRecord::Training training_line(const nlohmann::json& report, const std::string& card);
std::vector<EpochReport> epochs_of(const nlohmann::json& report);
// Of a linear model, in real units; none of other models.
std::vector<RunRecord::Coefficient> real_coefficients_of(const nlohmann::json& report);
bool ended_by_time_limit(const nlohmann::json& report);

}  // namespace stoker
