#include "predict/rows/predictions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <arrow/api.h>

#include "base/error.h"
#include "data/memory/arrow_result.h"
#include "data/target/relative_answers.h"
#include "device/workers.h"
#include "kernels/row_losses.h"
#include "model/network/sigmoid.h"
#include "predict/decide/decide.h"
#include "torch/door.h"

namespace stoker {
namespace {

// [count, outputs] of rows that are prepared.
std::vector<double> outputs_of(const Model& model, const Dataset& data, std::int64_t first,
                               std::int64_t count) {
  const auto own = family_of(model.network).outputs;
  const Array outputs = own == nullptr ? torch_door::outputs(model.network, model.parameters, data, first,
                                                             count, model.computed_on)
                                       : own(model.network, model.parameters, data, first, count);
  if (outputs.type() == DType::float64) {
    const auto values = outputs.as<double>();
    return {values.begin(), values.end()};
  }
  const auto values = outputs.as<float>();
  return {values.begin(), values.end()};
}

Dataset rows_of(const Model& model, const Table& table) {
  return model.preparation.apply(table, family_of(model.network).type(), false);
}

void divide_by(std::size_t count, std::vector<double>& sums) {
  if (count == 1) return;
  for (double& each : sums) each /= static_cast<double>(count);
}

void add_to(std::vector<double>& sums, const std::vector<double>& more) {
  if (sums.empty()) {
    sums = more;
    return;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
}

// One logit, of the second class.
void decide_between_two(double logit, std::int64_t& chosen, std::span<double> probabilities) {
  chosen = logit > 0 ? 1 : 0;
  probabilities[0] = sigmoid(-logit);
  probabilities[1] = sigmoid(logit);
}

// One logit per class.
void decide_among_many(std::span<const double> logits, std::int64_t& chosen,
                       std::span<double> probabilities) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  chosen = largest - logits.begin();
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    probabilities[i] = std::exp(logits[i] - *largest);
    sum += probabilities[i];
  }
  for (double& each : probabilities) each /= sum;
}

void decide(std::span<const double> logits, Predictions& predictions) {
  const std::size_t width = predictions.class_names.size();
  const std::size_t outputs = predictions.task == Task::binary ? 1 : width;
  const auto rows = static_cast<std::int64_t>(logits.size() / outputs);
  predictions.classes.resize(static_cast<std::size_t>(rows));
  predictions.probabilities.resize(static_cast<std::size_t>(rows) * width);
  constexpr std::int64_t together = 64;
  share_among_cores((rows + together - 1) / together, [&](std::int64_t block) {
    const auto end = static_cast<std::size_t>(std::min(rows, (block + 1) * together));
    for (auto row = static_cast<std::size_t>(block * together); row < end; ++row) {
      const std::span<double> of_row = std::span(predictions.probabilities).subspan(row * width, width);
      if (predictions.task == Task::binary) {
        decide_between_two(logits[row], predictions.classes[row], of_row);
      } else {
        decide_among_many(logits.subspan(row * width, width), predictions.classes[row], of_row);
      }
    }
  });
}

// 16 MB of probabilities, or one row: more, and every piece would be asked of the system anew.
std::int64_t rows_of_piece(std::size_t classes) {
  constexpr std::int64_t most_values = std::int64_t{1} << 21;
  const std::int64_t rows = most_values / static_cast<std::int64_t>(std::max<std::size_t>(classes, 1));
  return rows < rows_of_block ? std::max<std::int64_t>(rows, 1) : rows / rows_of_block * rows_of_block;
}

template <class Value>
void append(std::vector<Value>& all, const std::vector<Value>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Predictions predicted_classes(const Model& model, const Table& table) {
  Predictions all;
  all.task = model.preparation.task();
  all.class_names = model.preparation.classes();
  const std::size_t width = all.class_names.size();
  PiecesOfPredictions(model, table).each([&](const Predictions& piece) {
    append(all.classes, piece.classes);
    if (all.has_columns()) return append(all.probabilities, piece.probabilities);
    for (std::size_t row = 0; row < piece.classes.size(); ++row)
      all.of_predicted.push_back(
          piece.probabilities[row * width + static_cast<std::size_t>(piece.classes[row])]);
  });
  return all;
}

using NamedColumns = std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>;

std::shared_ptr<arrow::Array> numbers(std::span<const double> values, std::size_t start, std::size_t step) {
  arrow::DoubleBuilder builder;
  or_fail(builder.Reserve(static_cast<std::int64_t>(values.size() / step)), "predictions");
  for (std::size_t i = start; i < values.size(); i += step) {
    if (std::isnan(values[i])) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(values[i]);
    }
  }
  return or_fail(builder.Finish(), "predictions");
}

std::shared_ptr<arrow::Array> names_of_classes(const Predictions& predictions) {
  arrow::StringBuilder builder;
  for (const std::int64_t index : predictions.classes) {
    or_fail(builder.Append(predictions.class_names.at(static_cast<std::size_t>(index))), "predictions");
  }
  return or_fail(builder.Finish(), "predictions");
}

// A column of its own for each step, where there are several.
void add_steps(const std::string& name, std::span<const double> values, std::size_t step, std::size_t steps,
               NamedColumns& columns) {
  columns.emplace_back(steps == 1 ? name : fmt::format("{}_{}", name, step + 1),
                       numbers(values, step, steps));
}

NamedColumns prediction_columns(const Predictions& predictions, const std::string& name) {
  if (predictions.task == Task::regression) {
    NamedColumns of_steps;
    const auto steps = static_cast<std::size_t>(predictions.steps);
    for (std::size_t step = 0; step < steps; ++step)
      add_steps(name, predictions.values, step, steps, of_steps);
    if (!predictions.deviations.empty())
      of_steps.emplace_back("deviation", numbers(predictions.deviations, 0, 1));
    return of_steps;
  }
  NamedColumns columns{{name, names_of_classes(predictions)}};
  const std::size_t classes = predictions.class_names.size();
  if (!predictions.has_columns()) {
    columns.emplace_back("probability", numbers(predictions.of_predicted, 0, 1));
    return columns;
  }
  for (std::size_t i = 0; i < classes; ++i) {
    columns.emplace_back("probability_" + predictions.class_names[i],
                         numbers(predictions.probabilities, i, classes));
  }
  return columns;
}

// A name that is taken already gets an underscore behind it.
Table with_columns(const Table& table, const NamedColumns& added) {
  arrow::FieldVector fields = table.columns->schema()->fields();
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns = table.columns->columns();
  std::set<std::string> taken;
  for (const auto& field : fields) taken.insert(field->name());
  for (const auto& [wanted, values] : added) {
    std::string name = wanted;
    while (!taken.insert(name).second) name += "_";
    fields.push_back(arrow::field(name, values->type()));
    columns.push_back(std::make_shared<arrow::ChunkedArray>(values));
  }
  return {arrow::Table::Make(arrow::schema(fields), columns, table.rows())};
}

// What a single model says of numbers, in real units.
struct ToldNumbers {
  std::vector<double> values;     // [rows, steps]
  std::vector<double> variances;  // [rows], of each of them; none of models that do not tell it
};

// Of a row whose set has no member nothing is known.
void leave_out_empty_sets(const Dataset& data, std::size_t steps, ToldNumbers& told) {
  const Array* mask = data.find(Role::mask);
  if (mask == nullptr || mask->type() != DType::float32) return;
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  const std::span<const float> present = mask->as<float>();
  const std::size_t rows = told.values.size() / steps;
  const std::size_t members = present.size() / std::max<std::size_t>(rows, 1);
  for (std::size_t row = 0; row < rows; ++row) {
    if (std::ranges::any_of(present.subspan(row * members, members), [](float each) { return each != 0; }))
      continue;
    std::fill_n(told.values.begin() + static_cast<std::ptrdiff_t>(row * steps), steps, nothing);
    if (!told.variances.empty()) told.variances[row] = nothing;
  }
}

ToldNumbers told_numbers(const Model& model, const Dataset& data) {
  const Preparation& preparation = model.preparation;
  const std::vector<double> outputs = outputs_of(model, data, 0, data.rows());
  const auto steps = static_cast<std::size_t>(preparation.steps());
  const auto width = static_cast<std::size_t>(predicting_outputs(model.network));
  ToldNumbers told;
  told.values.reserve(outputs.size() / width * steps);
  for (std::size_t first = 0; first < outputs.size(); first += width) {
    for (std::size_t step = 0; step < steps; ++step)
      told.values.push_back(outputs[first + step] * preparation.target_scale(step) +
                            preparation.target_shift(step));
    if (width == steps) continue;
    const double most = kernels::most_log_variance;
    const double variance = std::exp(std::clamp(outputs[first + steps], -most, most));
    told.variances.push_back(variance * preparation.target_scale() * preparation.target_scale());
  }
  add_bases(data, told.values);
  leave_out_empty_sets(data, steps, told);
  return told;
}

// [rows]: what the members hold for possible around their mean; none where one of them does not tell how sure
// it is.
std::vector<double> deviations_around(const Predictions& mean, std::span<const ToldNumbers> members,
                                      std::span<const double> weights) {
  const auto steps = static_cast<std::size_t>(mean.steps);
  std::vector<double> variances(mean.values.size() / steps);
  for (std::size_t m = 0; m < members.size(); ++m) {
    const ToldNumbers& told = members[m];
    if (told.variances.empty()) return {};
    const double weight = weights.empty() ? 1 / static_cast<double>(members.size()) : weights[m];
    for (std::size_t i = 0; i < told.values.size(); ++i) {
      const double apart = told.values[i] - mean.values[i];
      variances[i / steps] +=
          weight * (told.variances[i / steps] + apart * apart) / static_cast<double>(steps);
    }
  }
  for (double& each : variances) each = std::sqrt(each);
  return variances;
}

// Where all count the same, their sum is divided in the end.
std::vector<double> weighted(const Model& model, std::size_t member, std::vector<double> values) {
  if (model.weights.empty()) return values;
  for (double& each : values) each *= model.weights[member];
  return values;
}

void add_classes_of(const Model& model, std::size_t member, const Dataset& data, std::int64_t first,
                    std::int64_t count, std::optional<Predictions>& sum) {
  Predictions own;
  own.task = model.preparation.task();
  own.class_names = model.preparation.classes();
  decide(outputs_of(members_of(model)[member], data, first, count), own);
  own.probabilities = weighted(model, member, std::move(own.probabilities));
  if (sum) {
    add_to(sum->probabilities, own.probabilities);
  } else {
    sum = std::move(own);
  }
}

// The class of a single model was decided by its outputs, which tell apart what two equal probabilities do
// not.
void conclude_classes(const Model& model, Predictions& sum) {
  if (model.is_ensemble()) {
    if (model.weights.empty()) divide_by(model.members.size(), sum.probabilities);
    sum.classes = most_probable(sum.probabilities, sum.class_names.size());
  }
  apply(model.decision, sum.probabilities, sum.classes);
}

void keep_those_of_predicted(Predictions& all) {
  if (all.has_columns()) return;
  const std::size_t width = all.class_names.size();
  for (std::size_t row = 0; row < all.classes.size(); ++row)
    all.of_predicted.push_back(all.probabilities[row * width + static_cast<std::size_t>(all.classes[row])]);
  all.probabilities.clear();
}

using RowsOfMember = std::function<Dataset(const Model& member, std::size_t number)>;

Predictions predicted_numbers(const Model& model, const RowsOfMember& rows) {
  Predictions predictions;
  predictions.steps = model.preparation.steps();
  const std::span<const Model> members = members_of(model);
  std::vector<ToldNumbers> told;
  for (std::size_t i = 0; i < members.size(); ++i) {
    told.push_back(told_numbers(members[i], rows(members[i], i)));
    add_to(predictions.values, weighted(model, i, told.back().values));
    if (told.back().variances.empty()) told.back().values.clear();
  }
  if (model.weights.empty()) divide_by(members.size(), predictions.values);
  predictions.deviations = deviations_around(predictions, told, model.weights);
  return predictions;
}

}  // namespace

Predictions predict_prepared(const Model& model, std::span<const Dataset> of_members) {
  if (model.preparation.task() == Task::regression)
    return predicted_numbers(model, [&](const Model&, std::size_t i) { return of_members[i]; });
  std::optional<Predictions> sum;
  for (std::size_t i = 0; i < members_of(model).size(); ++i)
    add_classes_of(model, i, of_members[i], 0, of_members[i].rows(), sum);
  conclude_classes(model, *sum);
  keep_those_of_predicted(*sum);
  return std::move(*sum);
}

std::vector<double> predict_numbers(const Model& model, const Dataset& data) {
  return told_numbers(model, data).values;
}

Predictions predict(const Model& model, const Table& table) {
  if (model.preparation.task() != Task::regression) return predicted_classes(model, table);
  return predicted_numbers(model, [&](const Model& member, std::size_t) { return rows_of(member, table); });
}

std::vector<std::vector<double>> predict_with_each_member(const Model& model, const Table& table) {
  std::vector<std::vector<double>> values;
  for (const Model& member : members_of(model))
    values.push_back(predict_numbers(member, rows_of(member, table)));
  return values;
}

PiecesOfPredictions::PiecesOfPredictions(const Model& model, const Table& table)
    : model_(model), rows_(table.rows()) {
  refuse_numbers();
  const std::span<const Model> members = members_of(model);
  for (std::size_t i = 0; i < members.size(); ++i) {
    Dataset data = rows_of(members[i], table);
    // Where one piece holds all rows, the data of one member at a time is enough.
    if (is_one_piece()) {
      add_member(i, data, 0, rows_, whole_);
    } else {
      data_.push_back(std::move(data));
    }
  }
  if (whole_) conclude(*whole_);
}

PiecesOfPredictions::PiecesOfPredictions(const Model& model, Dataset data)
    : model_(model), rows_(data.rows()) {
  refuse_numbers();
  if (model.is_ensemble()) fail("the members of an ensemble do not share prepared rows");
  data_.push_back(std::move(data));
}

void PiecesOfPredictions::refuse_numbers() const {
  if (model_.preparation.task() == Task::regression)
    fail("{} predicts numbers, which have no probabilities", model_.type());
}

bool PiecesOfPredictions::is_one_piece() const {
  return rows_ <= rows_of_piece(model_.preparation.classes().size());
}

void PiecesOfPredictions::each(const std::function<void(const Predictions& piece)>& take) {
  if (is_one_piece()) {
    if (!whole_) whole_ = piece(0, rows_);
    return take(*whole_);
  }
  const std::int64_t most = rows_of_piece(model_.preparation.classes().size());
  for (std::int64_t first = 0; first < rows_; first += most)
    take(piece(first, std::min(most, rows_ - first)));
}

Predictions PiecesOfPredictions::piece(std::int64_t first, std::int64_t count) const {
  std::optional<Predictions> predictions;
  for (std::size_t i = 0; i < members_of(model_).size(); ++i)
    add_member(i, data_.at(i), first, count, predictions);
  conclude(*predictions);
  return std::move(*predictions);
}

void PiecesOfPredictions::add_member(std::size_t member, const Dataset& data, std::int64_t first,
                                     std::int64_t count, std::optional<Predictions>& sum) const {
  add_classes_of(model_, member, data, first, count, sum);
}

void PiecesOfPredictions::conclude(Predictions& sum) const {
  conclude_classes(model_, sum);
}

Table predictions_table(const Predictions& predictions, const Table& input, bool include_features,
                        const std::string& prediction_name) {
  if (predictions.rows() != input.rows()) {
    fail("there are {} predictions for {} rows", predictions.rows(), input.rows());
  }
  arrow::FieldVector fields;
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  if (include_features) {
    fields = input.columns->schema()->fields();
    for (int i = 0; i < input.columns->num_columns(); ++i) columns.push_back(input.columns->column(i));
  }
  const Table before{arrow::Table::Make(arrow::schema(fields), columns, predictions.rows())};
  return with_columns(before, prediction_columns(predictions, prediction_name));
}

Table with_intervals(const Table& predictions, const Intervals& intervals) {
  const std::size_t steps =
      predictions.rows() == 0 ? 1 : intervals.lower.size() / static_cast<std::size_t>(predictions.rows());
  NamedColumns columns;
  for (std::size_t step = 0; step < steps; ++step) {
    add_steps("lower", intervals.lower, step, steps, columns);
    add_steps("upper", intervals.upper, step, steps, columns);
  }
  return with_columns(predictions, columns);
}

}  // namespace stoker
