#include "predict/measure/rows_to_measure.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "data/target/relative_answers.h"
#include "predict/measure/positions.h"

namespace stoker {

std::vector<std::int64_t> class_numbers(const Array& targets) {
  if (targets.type() == DType::int64) {
    const auto numbers = targets.as<std::int64_t>();
    return {numbers.begin(), numbers.end()};
  }
  std::vector<std::int64_t> classes;
  for (const float each : targets.as<float>()) classes.push_back(each > 0.5F ? 1 : 0);
  return classes;
}

RowsToMeasure::RowsToMeasure(Model model, Dataset data) : model_(std::move(model)), data_(std::move(data)) {
  const Preparation& preparation = model_.preparation;
  if (task() != Task::regression) {
    classes_ = class_numbers(data_.targets());
    return;
  }
  const auto steps = static_cast<std::size_t>(preparation.steps());
  for (const float each : std::as_const(data_).targets().as<float>()) {
    const std::size_t step = actual_.size() % steps;
    actual_.push_back(each * preparation.target_scale(step) + preparation.target_shift(step));
  }
  add_bases(data_, actual_);
}

std::optional<std::string> RowsToMeasure::absent_class() const {
  const std::vector<std::string>& names = model_.preparation.classes();
  for (std::size_t number = 0; number < names.size(); ++number)
    if (std::find(classes_.begin(), classes_.end(), static_cast<std::int64_t>(number)) == classes_.end())
      return names[number];
  return std::nullopt;
}

Predictions RowsToMeasure::predict(NamedArrays parameters) {
  model_.parameters = std::move(parameters);
  Predictions all;
  all.task = task();
  all.class_names = model_.preparation.classes();
  PiecesOfPredictions(model_, data_).each([&](const Predictions& piece) {
    all.classes.insert(all.classes.end(), piece.classes.begin(), piece.classes.end());
    all.probabilities.insert(all.probabilities.end(), piece.probabilities.begin(), piece.probabilities.end());
  });
  return all;
}

double RowsToMeasure::measure(const Metric& metric, NamedArrays parameters) {
  model_.parameters = std::move(parameters);
  if (task() == Task::regression) {
    std::vector<double> actual = actual_;
    std::vector<double> predicted = predict_numbers(model_, data_);
    centre_arrays(model_.preparation, actual, predicted);
    return metric.compute(measured_numbers(actual, predicted));
  }
  PiecesOfPredictions pieces(model_, data_);
  const ClassRows rows =
      class_rows(classes_, model_.preparation.classes().size(), [&](const auto& take) { pieces.each(take); });
  return rows.scored.all_numbers ? metric.compute({{}, {}, &rows}) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace stoker
