#pragma once

#include <nlohmann/json_fwd.hpp>

#include "store/record/record_part.h"
#include "train/fit/walk_forward_config.h"

// What walking forward found, as run.json has it.
namespace stoker {

nlohmann::json to_json(const WalkForwardResult& result);
WalkForwardResult walk_forward_from(const RecordPart& part);  // refuses what is none

}  // namespace stoker
