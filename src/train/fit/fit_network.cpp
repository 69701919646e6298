#include "train/fit/fit_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "base/time/trace.h"
#include "data/cubes/cube_faults.h"
#include "data/prepare/feature_columns.h"
#include "data/split/time_order.h"
#include "data/target/target_column.h"
#include "device/cpu_formats.h"
#include "predict/rows/predictions.h"
#include "predict/skill/naive_predictions.h"
#include "train/checkpoint/last_checkpoints.h"
#include "train/choose/choose_batch.h"
#include "train/choose/choose_decision.h"
#include "train/choose/device_of_training.h"
#include "train/fit/calibrate_deviations.h"
#include "train/fit/train_network.h"
#include "train/group/groups.h"
#include "train/loop/metric_stopping.h"
#include "train/rows/place_data.h"
#include "train/rows/validation.h"
#include "train/rows/weigh_rows.h"

namespace stoker {
namespace {

// Engines take the two classes of a binary target as 0 and 1 in a column of floats.
void make_binary_targets_floats(Dataset& dataset) {
  for (DatasetArray& part : dataset.arrays) {
    if (part.role != Role::targets) continue;
    const std::span<const std::int64_t> classes = std::as_const(part.array).as<std::int64_t>();
    Array floats = Array::for_rows(DType::float32, {part.array.dimension(0), 1});
    std::copy(classes.begin(), classes.end(), floats.as<float>().begin());
    part.array = std::move(floats);
  }
}

// What engines want of rows that are prepared.
Dataset complete_for_engines(Dataset dataset, const Preparation& preparation, const Table& table,
                             const std::string& weight_column, std::span<const double> class_weights) {
  weigh_rows(table, weight_column, class_weights, dataset);
  if (preparation.task() == Task::binary) make_binary_targets_floats(dataset);
  return dataset;
}

}  // namespace

TaskChoice choice_of(Task task) {
  switch (task) {
    case Task::binary:
      return TaskChoice::binary;
    case Task::multiclass:
      return TaskChoice::multiclass;
    case Task::regression:
      break;
  }
  return TaskChoice::regression;
}

void refuse_contradictions(const TrainingSettings& config) {
  config::Diagnostics diagnostics("");
  check(config, "", diagnostics);
  diagnostics.refuse_if_any();
}

void refuse_contradictions_of_one(const TrainingSettings& config) {
  config::Diagnostics diagnostics("");
  check_validation(config, "", diagnostics);
  check(config, "", diagnostics);
  diagnostics.refuse_if_any();
}

// What there is to warn of is said when the preparation is fitted.
std::vector<std::int64_t> classes_of(const Table& table, PreparationConfig& settings, const Notes& notes) {
  const Notes guesses = [&notes](Severity severity, const std::string& message) {
    if (severity == Severity::info) notes(severity, message);
  };
  const LearntTarget target = learn_target(table, settings, Scaling::standard, guesses);
  settings.task = choice_of(target.task);
  if (target.task == Task::regression) return {};
  if (table.time_order) settings.classes = target.classes;  // the newest may come up in the latest rows only
  return target_class_numbers(table, settings.target_column, target.classes);
}

SplitRows validation_rows(const Table& table, std::span<const std::int64_t> classes,
                          const TrainingSettings& config) {
  if (!config.validation_ids.empty()) {
    if (table.time_order)
      refuse_setting(
          "validation_ids",
          "validation_ids name rows, but these are windows of a series, of which the latest are held "
          "out; use validation_ratio");
    SplitRows rows = rows_apart(table, config.validation_ids, "validation_ids");
    if (rows.first.empty()) refuse_setting("validation_ids", "validation_ids leave no row to train on");
    return rows;
  }
  if (table.time_order) return set_latest_rows_aside(table, config.validation_ratio);
  if (table.group_column.empty())
    return set_validation_rows_aside(table.rows(), classes, config.validation_ratio, config.seed);
  return set_validation_groups_aside(rows_by_value(table, table.group_column), classes,
                                     config.validation_ratio, config.seed);
}

PreparedData prepare(const Table& training, const Table* validation, const PreparationConfig& config,
                     const InputForm& form, const Notes& notes) {
  const Traced traced(TraceKind::training, "preparing the data");
  if (training.rows() < 2 && !form.reads_cubes)  // a cube has many pixels
    refuse("a network needs at least 2 rows to train on, but the table has {}", training.rows());
  PreparedData data{Preparation::fit(training, config, form, notes), {}, {}};
  if (form.reads_cubes && !form.takes_odd_pixels) {
    refuse_odd_cubes(training, " to train on");
    if (validation != nullptr) refuse_odd_cubes(*validation, " to validate with");
  }
  const std::vector<double> class_weights =
      class_weights_on(training, data.preparation, config.class_weights);
  data.training = complete_for_engines(data.preparation.apply_to_training(training, DType::float32),
                                       data.preparation, training, config.weight_column, class_weights);
  if (validation != nullptr)
    data.validation =
        complete_for_engines(data.preparation.apply(*validation, DType::float32, true), data.preparation,
                             *validation, config.weight_column, class_weights);
  return data;
}

DividedRows divide_rows(const FitRequest& request, const TrainingSettings& config, const Notes& notes) {
  const Table& table = request.training;
  if (!config.sets_rows_aside()) return {table, std::nullopt, request.preparation, {}};
  // Which row has which class must be known before rows are set aside; of cubes each pixel has its own.
  PreparationConfig settings = request.preparation;
  const InputForm form = form_of(family_of(request.spec), request.spec.settings);
  std::vector<std::int64_t> classes;
  if (!form.reads_cubes) {
    settings.feature_columns = choose_features(table, settings, form, notes);
    classes = classes_of(table, settings, notes);
  }
  SplitRows rows = validation_rows(table, classes, config);
  if (const std::string purged = purge_text(rows); !purged.empty())
    notes(Severity::info, "validation: " + purged);
  std::vector<std::int64_t> held_back = rows.second;
  Table validation = take_rows(table, std::move(rows.second));
  return {take_rows(table, std::move(rows.first)), std::move(validation), std::move(settings),
          std::move(held_back)};
}

namespace {

// `held_back` becomes the rows that are set aside.
PreparedData prepare_with_validation(const FitRequest& request, const TrainingSettings& config,
                                     std::vector<std::int64_t>& held_back, const Notes& notes) {
  DividedRows rows = divide_rows(request, config, notes);
  held_back = std::move(rows.held_back);
  return prepare(rows.training, rows.validation ? &*rows.validation : nullptr, rows.preparation,
                 form_of(family_of(request.spec), request.spec.settings), notes);
}

// What settings mean where they do not mean quite what they say.
void tell_of_batches(const TrainingSettings& config, const EngineRequest& request, bool are_cubes,
                     const Notes& notes) {
  const std::vector<ParameterSpec> specs = parameter_specs(request.network);
  const bool takes_steps = std::ranges::any_of(specs, [](const auto& each) { return each.is_trained; });
  if (takes_steps && config.batch_size > request.training.rows())
    notes(Severity::info,
          fmt::format("batch_size {} is more than the {}: every step takes all", config.batch_size,
                      counted(static_cast<std::uint64_t>(request.training.rows()),
                              are_cubes ? "training cube" : "training row")));
  const bool has_buffers = std::ranges::any_of(specs, [](const auto& each) { return !each.is_trained; });
  if (config.accumulation_steps > 1 && has_buffers)
    notes(
        Severity::info,
        fmt::format("accumulation_steps {}: what {} learns from the rows of a batch together, as batch norm "
                    "does, it learns from each part; all else is as with the whole batch",
                    config.accumulation_steps, request.network.family));
}

void refuse_best_of_none(const CheckpointsToKeep& keep, const EngineRequest& request) {
  if (keep.best > 0 && request.validation.rows() == 0)
    refuse(
        "keep_best is {}, but no epoch is judged: there are no validation rows; set validation_ratio, for "
        "example to 0.2, or leave keep_best at 0",
        keep.best);
}

// The validation rows, where something is chosen by them and they are not too many to predict at once.
std::optional<RowsToMeasure> rows_to_decide_by(const DecisionConfig& config, const Network& network,
                                               const PreparedData& data) {
  const auto values = static_cast<std::size_t>(data.validation.rows()) * data.preparation.classes().size();
  if (!config.chooses() || values > most_held_back_values) return std::nullopt;
  return RowsToMeasure({network, data.preparation, {}}, data.validation);
}

HeldBackClasses predicted_rows(std::optional<RowsToMeasure>& rows, const NamedArrays& parameters) {
  if (!rows) return {};
  return {rows->classes(), rows->predict(parameters)};
}

// How far it is off on rows that it was not trained on tells how far it may be off on others. `validation`
// are these rows as they were prepared.
void keep_validation_errors(const Table& table, const Dataset& validation, std::vector<std::int64_t> rows,
                            Model& model) {
  if (rows.empty() || model.preparation.task() != Task::regression) return;
  if (rows.size() > most_held_back_values / static_cast<std::size_t>(model.preparation.steps())) return;
  const Table held_back = take_rows(table, rows);
  std::vector<double> predicted = predict_numbers(model, validation);
  if (!std::ranges::all_of(predicted, [](double value) { return std::isfinite(value); })) return;
  model.held_back = {std::move(rows), model.preparation.real_targets(held_back), std::move(predicted)};
}

// Where no GPU has kernels for the model, nothing that is wrong with one may end its training.
Device device_found(const FitRequest& request, const std::string& no_kernels, const Notes& notes) {
  const std::string& wanted = request.config.device;
  if (no_kernels.empty()) return choose_device(wanted, notes);
  try {
    return choose_device(wanted, no_notes());
  } catch (const Error&) {
    return Device::cpu();
  }
}

// Where a family learns from rows in a GPU's memory, they are brought there first, and `ahead` has the
// copies; the request has the rows of the host still.
EngineRequest request_for_device(const FitRequest& request, const PreparedData& data, Device device,
                                 RowCopies& ahead) {
  if (!device.is_cuda() || !family_of(request.spec).learns_where_rows_lie)
    return engine_request(request.spec, data, device, request.config);
  PreparedData there = data;
  ahead = rows_on_gpu(request.config.placement, device, there.training, there.validation);
  EngineRequest wanted = engine_request(request.spec, there, device, request.config);
  wanted.training = data.training;
  wanted.validation = data.validation;
  return wanted;
}

// What the settings of a model do not tell yet, and `auto` need not fail for.
std::string no_engine_on(Device device, const FitRequest& request, const EngineRequest& wanted) {
  const Family& family = family_of(request.spec);
  if (request.config.device != "auto" || !device.is_cuda() || family.no_gpu_because == nullptr) return "";
  if (device_to_go_on_with(request, device)) return "";
  EngineRequest probe = wanted;
  probe.is_placed = false;
  if (probe.batch_size == automatic_batch)
    probe.batch_size = batch_sizes_to_try(probe.training.rows()).front();
  const EngineChoice engine = request.config.engine;
  if (engine != EngineChoice::automatic && engine != EngineChoice::fused) return "";  // it says so itself
  return asking_engines(EngineChoice::fused, std::nullopt)(probe);
}

}  // namespace

FitResult fit_network(const FitRequest& request, TrainingListener& listener, const Notes& notes,
                      const StopSignal& stop) {
  const TrainingSettings& training = request.spec.training;
  refuse_contradictions_of_one(training);
  const std::string no_kernels =
      request.config.device == "auto" ? no_gpu_because(family_of(request.spec), request.spec.settings) : "";
  const Device automatic = device_found(request, no_kernels, notes);
  std::vector<std::int64_t> held_back;
  PreparedData data = prepare_with_validation(request, training, held_back, notes);
  const Device device = no_kernels.empty()
                            ? device_of_training(request, data, automatic, notes)
                            : device_without_kernels(request, data, automatic, no_kernels, notes);
  const DecisionConfig& decision = request.config.decision;
  refuse_decision_of_task(decision, choice_of(data.preparation.task()), data.preparation.target_column());
  RowCopies ahead;
  EngineRequest wanted = request_for_device(request, data, device, ahead);
  const std::string why = no_kernels.empty() ? no_engine_on(device, request, wanted) : "";
  if (!why.empty() && !device_without_kernels(request, data, device, why, notes).is_cuda()) {
    ahead = {};
    wanted = request_for_device(request, data, Device::cpu(), ahead);
  }
  tell_of_batches(training, wanted, data.preparation.cubes() != nullptr, notes);
  if (wanted.precision == Precision::bf16 && !wanted.device.is_cuda() && !cpu_multiplies_bf16())
    notes(
        Severity::warning,
        "precision is bf16, but this processor has no instructions for it: every product takes many times as "
        "long as with fp32");
  refuse_best_of_none(request.config.keep, wanted);
  std::optional<MetricStopping> stopping =
      metric_stopping(training, wanted.network, data.preparation, data.validation, given_decision(decision));
  std::optional<RowsToMeasure> to_decide_by = rows_to_decide_by(decision, wanted.network, data);
  data.training = {};  // the placed copy is the one that is used
  LastCheckpoints own_last;
  TrainedNetwork trained =
      train_network({request,
                     std::move(wanted),
                     request.checkpoints,
                     std::move(stopping),
                     request.last_checkpoints == nullptr ? &own_last : request.last_checkpoints,
                     true,
                     {},
                     std::move(ahead)},
                    listener, notes, stop);
  if (trained.outcome.end == TrainingEnd::time_limit)
    notes(Severity::warning,
          fmt::format("the time limit was reached after {} of {} epochs; the best model so far is kept",
                      trained.outcome.progress.epochs.size(), training.epochs));
  FitResult result = result_of(std::move(trained), std::move(data.preparation));
  result.model.quantile = quantile_of(training);
  learn_training_quantiles(request.training, result.model);
  decide(decision, predicted_rows(to_decide_by, result.model.parameters), notes, result);
  if (auto chosen = calibrate_deviations(
          held_back.empty() ? request.training : take_rows(request.training, held_back), result.model)) {
    if (held_back.empty()) chosen->metric.clear();  // which tells of rows held back
    result.chosen.push_back(*chosen);
    if (held_back.empty())
      notes(Severity::warning,
            "how sure the model is was measured on rows that it was trained on, because none are held back; "
            "set "
            "validation_ratio, for example to 0.1");
  }
  keep_validation_errors(request.training, data.validation, std::move(held_back), result.model);
  result.checkpoints.last_seconds += own_last.wait();
  return result;
}

}  // namespace stoker
