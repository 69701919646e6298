#pragma once

#include <optional>
#include <vector>

#include "data/table/table.h"
#include "predict/measure/charts.h"

namespace stoker {

// Actual and predicted values of the rows of a series, `steps` of each row one after the other. None of a
// table whose rows are not in time.
std::optional<PredictedOverTime> predicted_over_time(const Table& table, const std::vector<double>& actual,
                                                     const std::vector<double>& predicted, std::size_t steps);

}  // namespace stoker
