#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "predict/measure/class_rows.h"
#include "predict/measure/evaluation.h"

// What an evaluation says of a model next to forecasts without one, besides the verdict.
namespace stoker {

// Why these rows are too few for a test.
std::string reason_without_test(std::int64_t rows, const RowDependence& dependence);
// The same of classes, or why the rows do not show whether classes are told from each other.
std::string reason_without_test(const ClassRows& rows, const RowDependence& dependence);

// By the main metric, against the baseline that is best by it. None if there is a verdict or no baseline.
std::optional<UntestedSkill> untested_skill(const Evaluation& evaluation, const std::string& reason);

// Classes can be better than those of a forecast without a model though the probabilities are worse. None if
// the verdict is that the model is not better, which says enough.
std::optional<Caution> caution_of_probabilities(const Evaluation& evaluation);

}  // namespace stoker
