#pragma once

#include <vector>

#include "base/notes.h"
#include "data/prepare/preparation_config.h"
#include "data/table/table.h"

namespace stoker {

// The columns to predict from, by all rows to train on. Whoever prepares parts of the rows gives them to
// each, so that no part chooses others.
std::vector<std::string> choose_features(const Table& training, const PreparationConfig& config,
                                         const InputForm& wanted, const Notes& notes);

// Chooses the columns to predict from and learns how each becomes numbers.
std::vector<PreparedColumn> learn_columns(const Table& training, const PreparationConfig& config,
                                          const InputForm& form, const Notes& notes);

}  // namespace stoker
