#pragma once

#include <string>
#include <vector>

#include "store/runs.h"

namespace stoker::cli {

// One row per setting of the runs' documents that is not the same in all of them: its path, then its value in
// each run; "" where a run has no such setting.
std::vector<std::vector<std::string>> differing_settings(const std::vector<ListedRun>& runs);

}  // namespace stoker::cli
