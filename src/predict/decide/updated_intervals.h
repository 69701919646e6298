#pragma once

#include "data/table/table.h"
#include "model/model.h"
#include "predict/rows/predictions.h"

namespace stoker {

// Intervals for windows of a series one after the other, by whoever learns the answers as time goes on. A
// series to come is not like the one before it: errors grow with its level and with how it moves, and what
// the model was wrong about once says less from month to month. So each interval is the prediction less and
// more an error that bounds the share of the latest ones known when its window ends: those of the rows that
// were held back from the training, then those of the windows before it whose answers do not reach beyond
// that moment. Where intervals have held less than they were to, the error bounds more of them. `answered`
// are windows of the same series with their answers, none of which the model was trained on. Refuses as
// predict_intervals() does.
Intervals predict_updated_intervals(const Model& model, const Table& windows, const Table& answered,
                                    double share);

// So many of the latest errors count.
std::size_t errors_that_count(double share);

}  // namespace stoker
