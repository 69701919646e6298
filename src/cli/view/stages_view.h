#pragma once

#include <string>
#include <vector>

#include "train/stages/stage_config.h"

namespace stoker::cli {

// A line for each stage: its classes, and what was right after it of the classes of each stage so far.
std::string stages_table(const std::vector<StageResult>& stages);

}  // namespace stoker::cli
