#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/notes.h"
#include "train/explain/plain_step.h"
#include "train/fit/fit_network.h"

namespace stoker {

constexpr std::int64_t most_explained_rows = 64;

// Refuses what has no training steps, or none that can be taken apart: before a row is read.
void refuse_without_steps(const ModelSpec& spec);

// Rows of a table as a network reads them, by their places in it. `table` is what the data was prepared of.
StepBatch step_batch(const PreparedData& data, const Table& table, std::span<const std::int64_t> rows);

// The first step of a training, part by part with its numbers: the same rows in the same order, initial
// weights, dropout and learning rate as in the training itself. With as many rows as its batch has, the
// weights behind the step are those that an engine comes to; with fewer, it is the first step of a training
// with that batch size. Refuses what has no such steps.
nlohmann::json explain_step(const FitRequest& request, std::int64_t rows, const Notes& notes);

}  // namespace stoker
