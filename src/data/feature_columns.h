#pragma once

#include <vector>

#include "base/notes.h"
#include "data/preparation_config.h"
#include "data/table.h"

namespace stoker {

// Chooses the columns to predict from and learns how each becomes numbers.
std::vector<PreparedColumn> learn_columns(const Table& training, const PreparationConfig& config,
                                          Scaling scaling, const Notes& notes);

}  // namespace stoker
