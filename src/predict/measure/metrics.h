#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/prepare/preparation.h"
#include "predict/measure/class_rows.h"

// What models are measured by. A metric is a function and a line of the table in metrics.cpp; reports, sweeps
// and the command line ask the table and know no metric by name.
namespace stoker {

// What a metric is computed from. Either quantities in real units, or classes.
struct MeasuredRows {
  std::span<const double> actual;
  std::span<const double> predicted;
  const ClassRows* classes = nullptr;
  double quantile = 0.5;  // of which pinball_metric() is the loss
};

enum class MetricNeeds {
  numbers,
  classes,         // how often each occurs, is predicted, and is both
  probabilities,   // those that the rows' own classes were given
  ranked_classes,  // every class among the rows: each row is ranked in each class
};

struct Metric {
  std::string_view name;   // in documents, flags and files: "macro_f1"
  std::string_view title;  // for people: "Macro F1"
  bool higher_is_better = false;
  MetricNeeds needs = MetricNeeds::numbers;
  double (*compute)(const MeasuredRows& rows) = nullptr;  // of one row or more
  bool is_loss = false;                                   // what a training with `loss: auto` makes small
  std::string_view follows_from = {};  // another metric, of which it is a function on the same rows

  bool is_for(Task task) const { return (task == Task::regression) == (needs == MetricNeeds::numbers); }
};

// In the order in which people want them.
std::span<const Metric> metrics();

// What models with `loss: quantile` are measured by first. It is in no list that documents choose from, since
// it is of the model's own quantile.
const Metric& pinball_metric();
// It and metrics(): what a record may have. The first that it has is the main metric of the model.
std::vector<Metric> metrics_of_records();
double pinball_loss_of(double actual, double predicted, double quantile);  // of one number
// The share of the rows below their predictions, to be compared with the quantile in its name:
// share_below_for_0.9.
std::pair<std::string, double> share_below(const MeasuredRows& rows);
constexpr std::string_view share_below_prefix = "share_below_for_";

// Of pixels that stand out in cubes, which nodes compute: the higher the better, all of them.
struct PixelMetric {
  std::string_view name;
  std::string_view title;
};
std::span<const PixelMetric> pixel_metrics();

const Metric* find_metric(std::string_view name);    // that of quantiles among them; null when there is none
std::string_view title_of(std::string_view metric);  // the name itself where there is no such metric
std::vector<std::string> names_of_metrics(Task task);
std::vector<std::string> names_of_metrics(MetricNeeds needs);
// The one that is the loss.
const Metric& loss_metric(Task task);

// Refuses what has no rows.
MeasuredRows measured_numbers(std::span<const double> actual, std::span<const double> predicted,
                              double quantile = 0.5);

}  // namespace stoker
