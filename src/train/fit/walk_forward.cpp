#include "train/fit/walk_forward.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "base/time/trace.h"
#include "data/split/time_order.h"
#include "data/target/target_column.h"
#include "data/windows/windows.h"
#include "predict/decide/out_of_fold.h"
#include "predict/measure/evaluate.h"
#include "train/checkpoint/last_checkpoints.h"
#include "train/checkpoint/time_spent.h"
#include "train/choose/choose_decision.h"
#include "train/choose/chosen_batches.h"
#include "train/fit/fit_network.h"
#include "train/group/ensemble_progress.h"
#include "train/group/side_by_side.h"
#include "train/group/warnings_once.h"

namespace stoker {
namespace {

using RowsOfTime = std::vector<std::int64_t>;

// Where each block begins, and the end of the last. A moment with rows of several series is not divided.
std::vector<std::int64_t> edges_of_blocks(const Table& table, const RowsOfTime& order, std::int64_t blocks) {
  const auto rows = static_cast<std::int64_t>(order.size());
  const auto moment = [&](std::int64_t place) {
    return span_of(table, order[static_cast<std::size_t>(place)]).last;
  };
  std::vector<std::int64_t> edges;
  for (std::int64_t block = 0; block <= blocks; ++block) {
    std::int64_t edge = block * rows / blocks;
    while (edge > 0 && edge < rows && moment(edge) == moment(edge - 1)) ++edge;
    if (!edges.empty() && edge <= edges.back())
      refuse("walk_forward: {} are too few for {} blocks of time; use fewer folds or a longer series",
             counted(static_cast<std::uint64_t>(rows), "row"), blocks);
    edges.push_back(edge);
  }
  return edges;
}

// Tells how far it has come and what goes wrong; what else there is to say is said once, of the model that is
// kept.
class FoldListener : public WarningsListener {
 public:
  FoldListener(std::string whose, WarningsOnce& warnings, TrainingListener& progress)
      : WarningsListener(std::move(whose), warnings), progress_(progress) {}
  void epoch_finished(const EpochReport& report) override { progress_.epoch_finished(report); }
  void epochs_planned(std::int64_t epochs) override { progress_.epochs_planned(epochs); }
  void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override {
    progress_.advanced(step, total_steps, steps_per_second);
  }

 private:
  TrainingListener& progress_;
};

struct MeasuredFold {
  WalkForwardResult::Fold told;
  OutOfFold predicted;  // nothing where it would be too much, or cannot be measured with that of others
  PredictedWithout without;
};

// Of the earliest and the latest row, as text; empty where there are no times.
std::pair<std::string, std::string> times_of(const Table& block) {
  if (!block.windows || block.windows->config.time_column.empty() || block.rows() == 0) return {};
  const RowsOfTime order = rows_in_time(block);
  const auto column = static_cast<std::size_t>(column_position(block, block.windows->config.time_column));
  const Preview ends = preview(take_rows(block, {order.front(), order.back()}));
  return {ends.first_rows.front()[column], ends.first_rows.back()[column]};
}

OutOfFold predictions_of(const Model& model, const Table& block) {
  const Preparation& preparation = model.preparation;
  const auto rows = static_cast<std::size_t>(block.rows());
  OutOfFold all;
  all.quantile = model.quantile;
  if (preparation.task() == Task::regression) {
    all.actual = preparation.real_targets(block);
  } else {
    if (rows > most_held_back_values / preparation.classes().size()) return {};
    const MetClasses met = meet_classes(block, preparation.target_column(), preparation.classes());
    if (!met.unseen.empty()) return {};
    all.actual.assign(met.numbers.begin(), met.numbers.end());
  }
  all.predictions = predict(model, block);
  if (preparation.task() != Task::regression && all.predictions.probabilities.empty()) return {};
  all.rows.resize(rows);
  return all;
}

void append(OutOfFold& all, const OutOfFold& more) {
  const auto join_behind = [](auto& target, const auto& source) {
    target.insert(target.end(), source.begin(), source.end());
  };
  if (all.rows.empty()) {
    all = more;
    return;
  }
  join_behind(all.rows, more.rows);
  join_behind(all.actual, more.actual);
  join_behind(all.predictions.values, more.predictions.values);
  join_behind(all.predictions.classes, more.predictions.classes);
  join_behind(all.predictions.probabilities, more.predictions.probabilities);
}

class WalkForward {
 public:
  WalkForward(const FitRequest& request, const FitOne& fit_one, TrainingListener& listener,
              const StopSignal& stop)
      : request_(request),
        fit_one_(fit_one),
        preparation_(request.preparation),
        device_(request.spec.is_solved() ? Device::cpu() : choose_device(request.config.device, no_notes())),
        rows_(walk_forward_rows(request.training, request.config.walk_forward)),
        time_spent_(request.checkpoints, request.resume),
        batches_(request.checkpoints, request.resume),
        measured_(rows_.folds.size()),
        progress_(rows_.folds.size() + 1, listener),
        notes_(progress_.notes()),
        warnings_(notes_) {
    stop_.heed(stop);
    if (request.config.time_limit > 0)
      stop_.stop_after(request.config.time_limit - time_spent_.of_earlier_sittings());
    classes_of(request.training, preparation_, no_notes());
  }

  FitResult fit() {
    try {
      if (device_.is_cuda()) {
        train_on_gpu();
      } else if (request_.spec.training.batch_size == automatic_batch) {
        train(0);  // chooses the batch, which the folds take
        train_side_by_side(1, threads_of_cpu());
      } else {
        train_side_by_side(0, threads_of_cpu());
      }
    } catch (...) {
      time_spent_.keep_if_possible();
      throw;
    }
    kept_->checkpoints.last_seconds += last_checkpoints_.wait();
    kept_->walk_forward = result_of_folds();
    kept_->seconds = time_spent_.seconds();
    return std::move(*kept_);
  }

 private:
  int threads_of_cpu() const { return request_.threads > 0 ? request_.threads : std::max(1, cpu_cores()); }

  // The model that is kept has the GPU to itself, and tells how many like it fit.
  void train_on_gpu() {
    train(0);
    train_side_by_side(1, trainings_on_gpu(device_, kept_->memory));
  }

  // From the training of this number on, each with one core of the CPU.
  void train_side_by_side(std::int64_t first, int threads) {
    const CpuThreadLimit limit(1);
    work_within_memory(static_cast<std::int64_t>(rows_.folds.size()) + 1 - first, threads, stop_,
                       [&](std::int64_t i, bool) { throwing_errors([&] { train(first + i); }); });
  }

  // 0 is the model that is kept, which is trained whatever the time; the newest folds follow.
  void train(std::int64_t number) {
    if (stop_.reason() == StopReason::interrupted) throw Error(ExitCode::interrupted, "interrupted");
    if (number == 0) {
      kept_ = fit_rows(rows_.newest, "newest", progress_.of_member(0));
    } else if (stop_.reason() == StopReason::none) {
      measure(rows_.folds.size() - static_cast<std::size_t>(number));
    }
    time_spent_.keep();
    progress_.member_ended(static_cast<std::size_t>(number));
  }

  FitResult fit_rows(const RowsOfTime& rows, const std::string& folder, TrainingListener& listener) {
    const Table training = take_rows(request_.training, rows);
    FitRequest own{.training = training,
                   .spec = request_.spec,
                   .preparation = preparation_,
                   .config = request_.config,
                   .checkpoints = request_.checkpoints.empty() ? "" : request_.checkpoints / folder,
                   .resume = request_.resume,
                   .threads = 1,
                   .last_checkpoints = &last_checkpoints_,
                   .heeds_figures = false,
                   .batches = &batches_};
    own.config.walk_forward = {};
    own.config.time_limit = 0;  // that of the whole is in the signal
    return fit_one_(own, listener, stop_);
  }

  void measure(std::size_t fold) {
    const SplitRows& rows = rows_.folds[fold];
    const std::string name = fmt::format("fold {} of {}", fold + 1, rows_.folds.size());
    FoldListener listener(name, warnings_, progress_.of_member(rows_.folds.size() - fold));
    FitResult result;
    try {
      result = fit_rows(rows.first, fmt::format("fold-{:04}", fold + 1), listener);
    } catch (const OutOfMemory& error) {
      throw OutOfMemory(fmt::format("{}: {}", name, error.what()));
    } catch (const Error& error) {
      if (error.code() == ExitCode::interrupted) throw;
      throw Error(error.code(), fmt::format("{}: {}", name, error.what()), error.cause());
    }
    if (result.end == TrainingEnd::time_limit) return;
    const Table block =
        with_usable_targets(take_rows(request_.training, rows.second), result.model.preparation, no_notes());
    const Traced traced(TraceKind::training, "measuring folds");
    MeasuredFold measured;
    measured.predicted = predictions_of(result.model, block);
    const Evaluation evaluation =
        measured.predicted.rows.empty()
            ? evaluate(result.model, block)
            : evaluate_predictions(measured.predicted, result.model.preparation.target_column());
    if (!measured.predicted.rows.empty())
      measured.without = predict_without(measured.predicted, result.model, block);
    measured.told = {.number = static_cast<std::int64_t>(fold) + 1,
                     .trained_on = static_cast<std::int64_t>(rows.first.size()),
                     .purged = rows.purged,
                     .rows = block.rows(),
                     .metrics = evaluation.metrics};
    std::tie(measured.told.from, measured.told.until) = times_of(block);
    measured_[fold] = std::move(measured);
  }

  WalkForwardResult result_of_folds() {
    WalkForwardResult result;
    OutOfFold all;
    std::optional<PredictedWithout> without;
    bool is_whole = true;
    for (std::optional<MeasuredFold>& each : measured_) {
      if (!each) continue;
      result.rows += each->told.rows;
      is_whole = is_whole && !each->predicted.rows.empty() && has_classes_of_kept(each->predicted);
      if (is_whole) {
        append(all, each->predicted);
        if (without)
          stoker::append(*without, each->without);
        else
          without = each->without;
      }
      result.folds.push_back(std::move(each->told));
    }
    tell_what_is_left_out(result);
    if (is_whole && !all.rows.empty()) add_metrics(all, *without, result);
    return result;
  }

  void add_metrics(const OutOfFold& all, const PredictedWithout& without, WalkForwardResult& result) const {
    const Evaluation judged = judge_predictions(all, without, kept_->model.preparation.target_column());
    result.metrics = judged.metrics;
    for (const Baseline& each : judged.baselines) result.baselines.emplace_back(each.predicts, each.metrics);
    result.verdict = judged.verdict;
    result.untested = judged.untested;
    result.cautions = judged.cautions;
    if (result.verdict && !result.verdict->is_better)
      notes_(Severity::warning, fmt::format("walk_forward: over all folds, the model for '{}' is {}",
                                            judged.target, text_of(*result.verdict)));
    if (result.untested && result.untested->is_worse)
      notes_(Severity::warning, fmt::format("walk_forward: over all folds, the model for '{}': {}",
                                            judged.target, text_of(*result.untested)));
    for (const Caution& caution : result.cautions)
      notes_(Severity::warning, fmt::format("walk_forward: over all folds, {}", caution.text));
  }

  void tell_what_is_left_out(const WalkForwardResult& result) const {
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < measured_.size(); ++i)
      if (std::ranges::none_of(result.folds, [&](const auto& each) {
            return each.number == static_cast<std::int64_t>(i) + 1;
          }))
        numbers.push_back(fmt::format("{}", i + 1));
    if (numbers.empty()) return;
    notes_(
        Severity::warning,
        fmt::format("walk_forward: the time limit was reached before all {} folds were trained; {} {} left "
                    "out",
                    measured_.size(),
                    numbers.size() == 1 ? "fold " + numbers.front() : "folds " + join(numbers, ", "),
                    numbers.size() == 1 ? "is" : "are"));
  }

  // Folds that were trained on other classes cannot be measured together.
  bool has_classes_of_kept(const OutOfFold& predicted) const {
    return predicted.predictions.class_names == kept_->model.preparation.classes();
  }

  const FitRequest& request_;
  const FitOne& fit_one_;
  PreparationConfig preparation_;  // its task is settled on all rows
  const Device device_;
  const WalkForwardRows rows_;
  TimeSpent time_spent_;
  ChosenBatches batches_;
  StopSignal stop_;  // the caller's, the time limit, and for all to stop when one cannot go on
  std::optional<FitResult> kept_;
  std::vector<std::optional<MeasuredFold>> measured_;
  EnsembleProgress progress_;
  const Notes notes_;
  WarningsOnce warnings_;
  LastCheckpoints last_checkpoints_;
};

}  // namespace

WalkForwardRows walk_forward_rows(const Table& table, const WalkForwardConfig& config) {
  if (!table.time_order)
    refuse("walk_forward: the rows do not lie in time; make windows of a series first (the card windows)");
  const RowsOfTime order = rows_in_time(table);
  const std::vector<std::int64_t> edges = edges_of_blocks(table, order, config.blocks());
  const auto blocks = [&](std::int64_t first, std::int64_t end) {
    return RowsOfTime(order.begin() + edges[static_cast<std::size_t>(first)],
                      order.begin() + edges[static_cast<std::size_t>(end)]);
  };
  const bool expands = config.window == PastWindow::expanding;
  WalkForwardRows rows;
  for (std::int64_t block = config.past_blocks; block < config.blocks(); ++block)
    rows.folds.push_back(without_overlap(table, blocks(expands ? 0 : block - config.past_blocks, block),
                                         blocks(block, block + 1)));
  rows.newest = blocks(expands ? 0 : config.folds, config.blocks());
  std::ranges::sort(rows.newest);
  return rows;
}

Table rows_of_kept_model(const Table& table, const WalkForwardConfig& config) {
  if (!config.is_wanted() || config.window == PastWindow::expanding) return table;
  return take_rows(table, walk_forward_rows(table, config).newest);
}

FitResult fit_walking_forward(const FitRequest& request, const FitOne& fit_one, TrainingListener& listener,
                              const StopSignal& stop) {
  return WalkForward(request, fit_one, listener, stop).fit();
}

}  // namespace stoker
