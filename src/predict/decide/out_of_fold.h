#pragma once

#include <optional>
#include <string>

#include "model/model.h"
#include "predict/measure/evaluation.h"
#include "predict/rows/predictions.h"
#include "predict/skill/naive_predictions.h"

namespace stoker {

// What an ensemble makes of the rows that it was trained on, each predicted by the members alone that held it
// back, the mean of them. Rows that no member held back are not among them.
struct OutOfFold {
  std::vector<std::int64_t> rows;  // ascending, of the table that the ensemble was trained on
  std::vector<double> actual;      // in real units, or numbers of classes
  Predictions predictions;
  std::optional<double> quantile = std::nullopt;  // of a model for one
};
OutOfFold out_of_fold(const Model& ensemble);

// Metrics of predictions, whoever made them.
Evaluation evaluate_predictions(const OutOfFold& all, const std::string& target);

// Predictions of the same rows without a model. `all` holds them one behind the other.
struct PredictedWithout {
  std::vector<NaivePrediction> naive;
  RowDependence dependence;
};
PredictedWithout predict_without(const OutOfFold& all, const Model& model, const Table& table);
// Appends those of later rows. A forecast that only one of them has is left out.
void append(PredictedWithout& all, const PredictedWithout& more);
// Metrics of these predictions too, and the verdict on those that have a model.
Evaluation judge_predictions(const OutOfFold& all, const PredictedWithout& without,
                             const std::string& target);

// Its metrics. A little better than on rows that nobody has seen: these told each member when to stop.
// Without metrics where nothing was kept.
Evaluation evaluate_out_of_fold(const Model& ensemble);

}  // namespace stoker
