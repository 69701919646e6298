#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/prepare/preparation.h"
#include "data/table/table.h"
#include "model/model.h"
#include "predict/measure/class_rows.h"
#include "predict/measure/evaluation.h"
#include "predict/measure/metrics.h"
#include "predict/skill/skill.h"

// Forecasts that need no model, which every model is compared with. They are made from what training rows say
// about the target; models of earlier versions have no such facts, and then the evaluated rows stand in.
namespace stoker {

struct NaivePrediction {
  std::string predicts;        // "the mean", "the last value", "the value of the last season"
  std::vector<double> values;  // regression: [rows, steps]
  ScoredRows scored = {};      // classification
};

// The mean, and for windows of a series whose answer is a value the last one and that of the last season.
std::vector<NaivePrediction> naive_numbers(const Preparation& preparation, const Table& table,
                                           const std::vector<double>& actual);
// Those of a model: with `loss: quantile`, the quantile of the training rows in place of the mean.
std::vector<NaivePrediction> naive_numbers(const Model& model, const Table& table,
                                           const std::vector<double>& actual);
// Of a model for a quantile: that of the target in these rows, which it was trained on.
void learn_training_quantiles(const Table& training, Model& model);
// The most frequent class, with the share of each class as its probability. `actual` are numbers of classes,
// those that training did not have after the others.
std::vector<NaivePrediction> naive_classes(const Preparation& preparation,
                                           std::span<const std::int64_t> actual, std::size_t classes);

// Its metrics. Rankings are left out: without features there is nothing to rank by.
Baseline baseline_of_classes(const NaivePrediction& naive, std::span<const std::int64_t> actual,
                             std::size_t classes, std::span<const Metric> wanted);

RowDependence dependence_of(const Table& table);

// By squared errors, or by the pinball loss of a quantile.
std::optional<SkillVerdict> verdict_on_numbers(const std::vector<double>& actual,
                                               const std::vector<double>& predicted, std::size_t steps,
                                               const std::vector<NaivePrediction>& naive,
                                               const RowDependence& dependence,
                                               std::optional<double> quantile = std::nullopt);
// By log loss, by balanced accuracy or, of two classes, by how they rank the rows: probabilities that are too
// extreme can tell classes apart, and so can those that never make a rare class the most probable.
std::optional<SkillVerdict> verdict_on_classes(const ClassRows& rows,
                                               const std::vector<NaivePrediction>& naive,
                                               const RowDependence& dependence);

}  // namespace stoker
