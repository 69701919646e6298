#pragma once

#include <string>

#include "cli/bench/bench.h"

namespace stoker::cli {

// Trains with a sleep after every so many steps as the options say, and tells what sleeps take: the middle of
// some, with the looks at the router's hesitation before them.
void bench_sleeps(const EngineRequest& request, EngineChoice choice, const ExpertBenchOptions& options,
                  const std::string& workload);

}  // namespace stoker::cli
