#pragma once

#include <span>

#include "base/notes.h"
#include "data/table.h"
#include "model/model.h"
#include "predict/evaluation.h"
#include "predict/metrics.h"

namespace stoker {

// Refuses a table without rows or target. Warns of what it must make do with: rows whose target is missing or
// unusable are left out; a class that training did not have is a wrong prediction in each of its rows, as one
// to which the model gives the probability 0; a metric that cannot be computed of these rows is left out.
Evaluation evaluate(const Model& model, const Table& table, const Notes& notes = no_notes(),
                    std::span<const Metric> wanted = metrics());

}  // namespace stoker
