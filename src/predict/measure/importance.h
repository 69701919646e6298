#pragma once

#include <cstdint>

#include "base/process/stop.h"
#include "data/table/table.h"
#include "model/model.h"
#include "predict/measure/charts.h"
#include "predict/measure/metrics.h"

namespace stoker {

struct ImportanceConfig {
  std::int64_t repeats = 5;
  std::uint64_t seed = 42;
};

// How much the metric loses when the values of one column of the table change places among the rows: what a
// model relies on, whatever its family and however the column becomes numbers. A column whose values say the
// same as another's may seem unimportant, because the model can do without either.
//
// Where rows × columns × parameters would take seconds, some members of an ensemble stand for all, and
// an even sample of the rows is used (of 100 at least). Heeds an interruption.
ColumnImportance column_importance(const Model& model, const Table& table, const Metric& metric,
                                   const ImportanceConfig& config, const StopSignal& stop);
// The same, by a metric that tells something: a model that takes every row for the most frequent class is as
// often right whatever it reads, and then the loss says what its probabilities rest on.
ColumnImportance telling_importance(const Model& model, const Table& table, const Metric& metric,
                                    const ImportanceConfig& config, const StopSignal& stop);
// Even so it would take the better part of a minute.
bool is_importance_too_slow(const Model& model, const ImportanceConfig& config);

}  // namespace stoker
