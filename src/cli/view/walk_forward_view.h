#pragma once

#include <string>

#include "train/fit/walk_forward_config.h"

namespace stoker::cli {

// A line for each fold and one for all together, with the metrics that people look at first.
std::string walk_forward_table(const WalkForwardResult& result);

}  // namespace stoker::cli
