#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "predict/predictions.h"

namespace stoker {

// Hands out the predictions of all rows with their probabilities, piece by piece in the order of the rows.
using PredictedRows = std::function<void(const std::function<void(const Predictions& piece)>& take)>;

// Area under the receiver operating characteristic: of the second of two classes, or the mean over all
// classes, each against the rest. `of_actual` is the probability that each row's own class was given. A class
// that the pieces have no probabilities of was given 0. None when a class has no row or no row is of another.
//
// The area is the share of pairs (one row of the class, one of another) in which the class's row has the
// higher score; ties count half. A class's few rows are sorted and each other row is looked up among them, so
// that it costs rows × classes × log(rows of a class), and memory for the rows alone.
std::optional<double> roc_auc(std::span<const std::int64_t> actual, std::size_t classes,
                              std::span<const double> of_actual, const PredictedRows& predicted);

}  // namespace stoker
