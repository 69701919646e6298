#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/runs.h"

namespace stoker {

// Of the cards of a run's document, by "<card>.config.<setting>": a run's name and the layout of the canvas
// change nothing.
using RunSettings = std::map<std::string, std::string>;
RunSettings settings_of(const RunPaths& paths);

// One row per setting of the runs' documents that is not the same in all of them: its path, then its value in
// each run; "" where a run has no such setting.
std::vector<std::vector<std::string>> differing_settings(const std::vector<ListedRun>& runs);

}  // namespace stoker
