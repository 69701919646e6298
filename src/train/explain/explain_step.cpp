#include "train/explain/explain_step.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kernels/row_order.h"
#include "train/explain/step_report.h"
#include "train/rows/taken_rows.h"

namespace stoker {
namespace {

using nlohmann::json;

StepOptimizerKind step_kind(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adamw:
      return StepOptimizerKind::adamw;
    case Optimizer::sgd:
      return StepOptimizerKind::sgd;
    case Optimizer::lion:
      return StepOptimizerKind::lion;
    case Optimizer::adam:
      break;
  }
  return StepOptimizerKind::adam;
}

// What the training does besides, which is no part of one step.
json remarks_on(const FitRequest& request, std::int64_t rows, std::int64_t batch_size) {
  json remarks = json::array();
  const TrainingSettings& training = request.spec.training;
  if (batch_size != automatic_batch && rows < batch_size)
    remarks.push_back(fmt::format(
        "the training takes {} rows at a step; these are the first {} of its first batch", batch_size, rows));
  if (request.config.ensemble.is_wanted() || request.config.walk_forward.is_wanted())
    remarks.push_back(
        "the card trains several networks on parts of these rows; this is a step of one on all of them");
  if (training.weight_average > 0)
    remarks.push_back("the model becomes a moving average of the weights, which begins behind this step");
  if (request.config.precision != Precision::automatic && request.config.precision != Precision::fp32)
    remarks.push_back(fmt::format("the numbers are not rounded to {}, as those of the training are",
                                  config::name_of(request.config.precision)));
  return remarks;
}

// The loss of the same rows once more, with the same values dropped.
double loss_behind(const StepBatch& batch, StepNetwork network, const LossTerm& term) {
  --network.steps;
  pass_forward(batch, network);
  return loss_of(batch, network.outputs(), StepLossKind::automatic, term).mean;
}

json steps_of(const EngineRequest& wanted, const StepBatch& batch, double learning_rate) {
  json steps = json::array();
  steps.push_back(batch_report(batch));
  StepNetwork network = built_network(wanted.network, wanted.seed, &wanted.training);
  steps.push_back(network_report(network));
  StepOptimizer optimizer =
      begun_optimizer(step_kind(wanted.optimizer.kind), wanted.optimizer, learning_rate, network);
  steps.push_back(optimizer_report(optimizer));
  clear_gradients(optimizer);
  steps.push_back(cleared_report(optimizer));
  pass_forward(batch, network);
  steps.push_back(forward_report(batch, network));
  const StepLoss loss = loss_of(batch, network.outputs(), StepLossKind::automatic, wanted.loss());
  steps.push_back(loss_report(batch, network.outputs(), loss));
  pass_backward(loss, network);
  steps.push_back(backward_report(network));
  const StepChange change = take_step(optimizer, network);
  json last = change_report(change, network, optimizer);
  last["loss_before"] = loss.mean;
  last["loss_after"] = loss_behind(batch, network, wanted.loss());
  steps.push_back(std::move(last));
  return steps;
}

}  // namespace

void refuse_without_steps(const ModelSpec& spec) {
  if (spec.is_solved())
    refuse(
        "{} is solved in one go, without training steps; they are there to be looked into for neural_network "
        "and "
        "deep_neural_network",
        spec.family);
  const Network of_any_size{spec.family, spec.settings, {table_features(DType::float32, 1)}, 1};
  if (const std::string refusal = step_refusal(of_any_size); !refusal.empty()) refuse("{}", refusal);
}

StepBatch step_batch(const PreparedData& data, const Table& table, std::span<const std::int64_t> rows) {
  const Preparation& preparation = data.preparation;
  StepBatch batch;
  for (const DatasetArray& each : data.training.arrays) {
    if (each.has_windows()) refuse("rows that are windows of a series are not looked into step by step");
    batch.data.arrays.push_back({each.name, each.role, taken_rows(each.array, rows)});
  }
  for (const std::int64_t row : rows) batch.row_numbers.push_back(table.row_number(row));
  batch.columns = preparation.feature_names();
  batch.target = preparation.target_column();
  batch.classes = preparation.classes();
  batch.target_shift = preparation.target_shift();
  batch.target_scale = preparation.target_scale();
  return batch;
}

json explain_step(const FitRequest& request, std::int64_t rows, const Notes& notes) {
  refuse_without_steps(request.spec);
  const TrainingSettings& training = request.spec.training;
  const DividedRows divided = divide_rows(request, training, notes);
  const InputForm form = form_of(family_of(request.spec), request.spec.settings);
  const PreparedData data = prepare(divided.training, nullptr, divided.preparation, form, notes);
  EngineRequest wanted = engine_request(request.spec, data, Device::cpu(), request.config);
  if (const std::string refusal = step_refusal(wanted.network); !refusal.empty()) refuse("{}", refusal);
  const std::int64_t all = data.training.rows();
  const std::int64_t count = std::min(rows, all);
  const EpochOrder order(wanted.order, wanted.seed, all, 0);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < count; ++i) places.push_back(order(i));
  json explained{{"family", request.spec.family},
                 {"rows", count},
                 {"training_rows", all},
                 {"remarks", remarks_on(request, count, wanted.batch_size)}};
  if (wanted.batch_size == automatic_batch) wanted.batch_size = count;
  const double rate = learning_rate_at(training, wanted.steps_per_epoch(), 0, 1);
  explained["steps"] = steps_of(wanted, step_batch(data, divided.training, places), rate);
  return explained;
}

}  // namespace stoker
