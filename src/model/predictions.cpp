#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>

#include <arrow/api.h>

#include "base/error.h"
#include "data/arrow_result.h"
#include "model/model.h"

namespace stoker {
namespace {

std::vector<double> linear_outputs(const Model& model, const Table& table) {
  const Dataset dataset = model.preparation.apply(table, DType::float64, false);
  const Array& features = dataset.features();
  const auto coefficients = find_array(model.parameters, "coefficients").as<double>();
  const double intercept = find_array(model.parameters, "intercept").as<double>()[0];
  const std::int64_t rows = features.dimension(0);
  const auto columns = static_cast<std::int64_t>(coefficients.size());
  if (features.dimension(1) != columns) {
    fail("A linear model of {} coefficients was given {} columns", columns, features.dimension(1));
  }
  using DoubleRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  std::vector<double> outputs(static_cast<std::size_t>(rows));
  const Eigen::Map<const DoubleRows> x(features.as<double>().data(), rows, columns);
  const Eigen::Map<const Eigen::VectorXd> w(coefficients.data(), columns);
  Eigen::Map<Eigen::VectorXd>(outputs.data(), rows) = (x * w).array() + intercept;
  return outputs;
}

std::vector<double> network_outputs(const Model& model, const Table& table) {
  const Dataset dataset = model.preparation.apply(table, DType::float32, false);
  const Array outputs = mlp_outputs(*model.network, model.parameters, dataset.features());
  const auto values = outputs.as<float>();
  return {values.begin(), values.end()};
}

// Without overflow for logits of any size.
double sigmoid(double logit) {
  const double e = std::exp(-std::abs(logit));
  return logit >= 0 ? 1 / (1 + e) : e / (1 + e);
}

// One logit, of the second class.
void decide_between_two(std::span<const double> logits, Predictions& predictions) {
  for (const double logit : logits) {
    predictions.classes.push_back(logit > 0 ? 1 : 0);
    predictions.probabilities.push_back(sigmoid(-logit));
    predictions.probabilities.push_back(sigmoid(logit));
  }
}

// One logit per class.
void decide_among_many(std::span<const double> logits, std::size_t classes, Predictions& predictions) {
  for (std::size_t start = 0; start < logits.size(); start += classes) {
    const auto row = logits.subspan(start, classes);
    const auto largest = std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const double logit : row) sum += std::exp(logit - *largest);
    for (const double logit : row) predictions.probabilities.push_back(std::exp(logit - *largest) / sum);
    predictions.classes.push_back(largest - row.begin());
  }
}

using NamedColumns = std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>;

std::shared_ptr<arrow::Array> numbers(std::span<const double> values, std::size_t start, std::size_t step) {
  arrow::DoubleBuilder builder;
  or_fail(builder.Reserve(static_cast<std::int64_t>(values.size() / step)), "predictions");
  for (std::size_t i = start; i < values.size(); i += step) builder.UnsafeAppend(values[i]);
  return or_fail(builder.Finish(), "predictions");
}

std::shared_ptr<arrow::Array> names_of_classes(const Predictions& predictions) {
  arrow::StringBuilder builder;
  for (const std::int64_t index : predictions.classes) {
    or_fail(builder.Append(predictions.class_names.at(static_cast<std::size_t>(index))), "predictions");
  }
  return or_fail(builder.Finish(), "predictions");
}

NamedColumns prediction_columns(const Predictions& predictions, const std::string& name) {
  if (predictions.task == Task::regression) return {{name, numbers(predictions.values, 0, 1)}};
  NamedColumns columns{{name, names_of_classes(predictions)}};
  const std::size_t classes = predictions.class_names.size();
  for (std::size_t i = 0; i < classes; ++i) {
    columns.emplace_back("probability_" + predictions.class_names[i],
                         numbers(predictions.probabilities, i, classes));
  }
  return columns;
}

}  // namespace

Predictions predict(const Model& model, const Table& table) {
  Predictions predictions;
  predictions.task = model.preparation.task();
  predictions.class_names = model.preparation.classes();
  std::vector<double> outputs = model.network ? network_outputs(model, table) : linear_outputs(model, table);
  switch (predictions.task) {
    case Task::regression:
      for (double& value : outputs) {
        value = value * model.preparation.target_scale() + model.preparation.target_shift();
      }
      predictions.values = std::move(outputs);
      break;
    case Task::binary:
      decide_between_two(outputs, predictions);
      break;
    case Task::multiclass:
      decide_among_many(outputs, predictions.class_names.size(), predictions);
      break;
  }
  return predictions;
}

Table predictions_table(const Predictions& predictions, const Table& input, bool include_features,
                        const std::string& prediction_name) {
  if (predictions.rows() != input.rows()) {
    fail("There are {} predictions for {} rows", predictions.rows(), input.rows());
  }
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  if (include_features) {
    fields = input.columns->schema()->fields();
    for (int i = 0; i < input.columns->num_columns(); ++i) columns.push_back(input.columns->column(i));
  }
  std::set<std::string> taken;
  for (const auto& field : fields) taken.insert(field->name());
  for (auto& [wanted, values] : prediction_columns(predictions, prediction_name)) {
    std::string name = wanted;
    while (!taken.insert(name).second) name += "_";
    fields.push_back(arrow::field(name, values->type()));
    columns.push_back(std::make_shared<arrow::ChunkedArray>(values));
  }
  return {arrow::Table::Make(arrow::schema(fields), columns, predictions.rows())};
}

}  // namespace stoker
