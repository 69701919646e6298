#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/runs.h"

// Whether settings differ by more than their seeds do: runs that differ in nothing but seeds are repetitions
// of one setting, and the difference between two settings is held against the spread of theirs.
namespace stoker {

// A table with a column per setting: its metrics over all seeds, and how they differ from those of the first.
// Empty where no setting was run with several seeds. The metrics are those of the records.
std::vector<std::vector<std::string>> seed_rows(const std::vector<ListedRun>& runs);
nlohmann::json seeds_json(const std::vector<ListedRun>& runs);

// What the runs cannot tell of seeds, as a sentence; "" where there is nothing to say.
std::string unknown_of_seeds(const std::vector<ListedRun>& runs);

}  // namespace stoker
