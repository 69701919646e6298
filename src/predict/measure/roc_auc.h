#pragma once

#include <optional>

#include "predict/measure/class_rows.h"

namespace stoker {

// Area under the receiver operating characteristic: of the second of two classes, or the mean over all
// classes, each against the rest. None when a class has no row or no row is of another.
//
// The area is the share of pairs (one row of the class, one of another) in which the class's row has the
// higher score; ties count half. A class's few rows are sorted and each other row is looked up among them, so
// that it costs rows × classes × log(rows of a class), and memory for the rows alone.
std::optional<double> roc_auc(const ClassRows& rows);

}  // namespace stoker
