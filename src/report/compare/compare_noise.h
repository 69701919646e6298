#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/runs.h"

// Whether the metrics of runs differ by more than the test rows' chance, each run against the first. Where
// the rows are not the same (compare_rows.h) that is not told.
namespace stoker {

// One row per metric of which that is known for some run.
std::vector<std::vector<std::string>> noise_rows(const std::vector<ListedRun>& runs);
// By run, then by "<card>.<metric>": difference and same_rows; of the same rows also standard_error and
// more_than_noise.
nlohmann::json noise_json(const std::vector<ListedRun>& runs);

}  // namespace stoker
