#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/runs.h"

namespace stoker {

// What came of a sweep.
struct SweepWinner {
  std::int64_t trial = 0;
  std::size_t trials = 0;
  std::string metric;
  std::optional<double> score;
  std::vector<std::pair<std::string, std::string>> settings;  // that were searched
  std::string run;                                            // the folder in which it was refitted
  std::string final_run;                                      // in which it was trained on all rows; or ""
  std::filesystem::path folder;                               // where `run` lies now
  std::optional<RunRecord> record;                            // of `run`, where it is still there
};

// To be said beside test scores of a winner that was trained on all rows after them.
inline constexpr const char* scores_are_of_an_earlier_model =
    "test scores are those of the model before it was trained on all rows; no rows are left to test the last "
    "one on";

// None of a run that is no sweep, or of a sweep without a winner yet.
std::optional<SweepWinner> winner_of(const RunPaths& paths);
nlohmann::json winner_json(const SweepWinner& winner);

}  // namespace stoker
