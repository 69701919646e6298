#pragma once

#include <span>

#include "base/notes.h"
#include "data/table/table.h"
#include "model/model.h"
#include "predict/measure/evaluation.h"
#include "predict/measure/metrics.h"

namespace stoker {

// Refuses a table without rows or target. Warns of what it must make do with: rows whose target is missing or
// unusable are left out; a class that training did not have is a wrong prediction in each of its rows, as one
// to which the model gives the probability 0; a metric that cannot be computed of these rows is left out.
Evaluation evaluate(const Model& model, const Table& table, const Notes& notes = no_notes(),
                    std::span<const Metric> wanted = metrics());

// All of that, with an interval for each metric, the metrics of forecasts that need no model
// (naive_predictions.h) and the verdict whether the model is better than all of them. Warns if it is not, and
// if a high accuracy hides a class that is rarely recognized.
Evaluation judge(const Model& model, const Table& table, const Notes& notes);

// The rows of the table whose target can be compared with a prediction, with a warning where that is not all
// of them.
Table with_usable_targets(const Table& table, const Preparation& preparation, const Notes& notes);

}  // namespace stoker
