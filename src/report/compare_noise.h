#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/runs.h"

// Whether the metrics of runs differ by more than the test rows' chance, each run against the first.
namespace stoker {

// One row per metric of which that is known for some run.
std::vector<std::vector<std::string>> noise_rows(const std::vector<ListedRun>& runs);
// By run, then by "<card>.<metric>": difference, standard_error, more_than_noise.
nlohmann::json noise_json(const std::vector<ListedRun>& runs);

}  // namespace stoker
