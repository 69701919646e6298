#pragma once

#include <nlohmann/json_fwd.hpp>

#include "train/explain/plain_step.h"

// What happens in a training step, for people and for pages: each part with its numbers. Arrays of more than
// a thousand numbers are told by their statistics and their first corner.
namespace stoker {

nlohmann::json batch_report(const StepBatch& batch);
nlohmann::json network_report(const StepNetwork& network);
nlohmann::json optimizer_report(const StepOptimizer& optimizer);
nlohmann::json cleared_report(const StepOptimizer& optimizer);
nlohmann::json forward_report(const StepBatch& batch, const StepNetwork& network);
nlohmann::json loss_report(const StepBatch& batch, const StepNumbers& outputs, const StepLoss& loss);
nlohmann::json backward_report(const StepNetwork& network);
nlohmann::json change_report(const StepChange& change, const StepNetwork& network,
                             const StepOptimizer& optimizer);

}  // namespace stoker
