#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/record/record_part.h"
#include "train/stages/stage_config.h"

// The stages of a training, as run.json has them.
namespace stoker {

nlohmann::json to_json(const std::vector<StageResult>& stages);
std::vector<StageResult> stages_from(const RecordPart& part);  // of a training; refuses what are none

}  // namespace stoker
