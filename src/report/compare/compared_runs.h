#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/runs.h"

// Runs as programs read them.
namespace stoker {

// Its record, with its name, its folder and how to go on with it.
nlohmann::json run_json(const ListedRun& run);
// The same with the winner of a sweep.
nlohmann::json whole_run_json(const ListedRun& run);

// A sweep is compared by what its winner has reached.
void let_winners_stand_for_sweeps(std::vector<ListedRun>& runs);

// Side by side: what `stoker runs compare --json` prints. At least one of them.
nlohmann::json comparison_json(std::vector<ListedRun> runs);

}  // namespace stoker
