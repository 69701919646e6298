#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/view/terminal.h"
#include "predict/measure/evaluation.h"
#include "store/runs.h"

// An evaluation as people and programs read it; `training` is the one that its model comes from, or null.
namespace stoker::cli {

Pieces evaluation_text(const std::string& card, const Evaluation& evaluation,
                       const RunRecord::Training* training);
// Where nothing was tested: how well the rows fit that were trained on.
Pieces training_text(const RunRecord::Training& training);
nlohmann::json evaluation_json(const Evaluation& evaluation, const RunRecord::Training* training);

// Of the card that trained what this card evaluated; null where the record does not say.
const RunRecord::Training* training_behind(const RunRecord& record, const std::string& card);

}  // namespace stoker::cli
