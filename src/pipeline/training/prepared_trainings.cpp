#include "pipeline/training/prepared_trainings.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "data/prepare/feature_columns.h"
#include "data/split/time_order.h"
#include "data/target/target_column.h"
#include "pipeline/card/graph.h"
#include "pipeline/run/rows_to_come.h"
#include "pipeline/training/training_card.h"
#include "predict/measure/metrics.h"
#include "train/choose/choose_decision.h"
#include "train/fit/fit.h"
#include "train/rows/folds.h"
#include "train/rows/place_data.h"

namespace stoker {
namespace {

// Tables and prepared rows may each take this share of the memory before those that serve no more are
// forgotten.
constexpr std::uint64_t kept_share = 8;

bool needs_a_model(const Document& document, const std::string& id) {
  const std::set<std::string> needed = needed_for(document, id);
  return std::any_of(document.cards.begin(), document.cards.end(),
                     [&](const Card& card) { return trains(card) && needed.contains(card.id); });
}

// The rows that are trained and scored on, once for each fold.
std::vector<SplitRows> splits_of(const Table& table, std::span<const std::int64_t> classes,
                                 const SweepConfig& config, const ModelSpec& spec) {
  if (config.folds > 0) return folds_of(table, classes, config.folds, config.seed);
  return {validation_rows(table, classes, spec.training)};
}

// Ranks are compared between classes: each must be among the rows that are scored.
void refuse_absent_classes(const Metric& metric, const LearntTarget& target,
                           std::span<const std::int64_t> classes, const std::vector<SplitRows>& splits) {
  for (const SplitRows& split : splits) {
    std::set<std::int64_t> met;
    for (const std::int64_t row : split.second) met.insert(classes[static_cast<std::size_t>(row)]);
    for (std::size_t each = 0; each < target.classes.size(); ++each) {
      const auto number = static_cast<std::int64_t>(each);
      if (met.contains(number)) continue;
      const auto rows = std::count(classes.begin(), classes.end(), number);
      refuse(
          "sweep.metric {} needs every class among the rows that are held back{}, but class '{}' has {} "
          "in total and is missing there; give it more rows or leave it out, or use another metric, for "
          "example {}",
          metric.name, splits.size() > 1 ? " in each fold" : "", target.classes[each],
          counted(static_cast<std::uint64_t>(rows), "row"), loss_metric(target.task).name);
    }
  }
}

// What the rows to train and score on depend on, the fold aside: without folds, no setting that is searched
// chooses others.
std::string rows_key_of(const PreparedTraining& training, const std::string& identity) {
  const InputForm form = form_of(family_of(training.spec), training.spec.settings);
  return fmt::format("{}\n{}\n{} {} {}", identity,
                     config::to_yaml(config::write(training.settings.preparation)), form.numbers_apart,
                     form.embeds_categories, form.reads_windows);
}

// Of two that mean none by 0.
double shorter_limit(double a, double b) {
  return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

// Where memory runs out in training, that is the machine's fault; a network for which there could never be
// enough is the candidate's.
void refuse_if_too_large(const PreparedTraining& training, std::uint64_t memory) {
  if (training.spec.is_solved()) return;
  const std::int64_t count = parameter_count(
      network_for(family_of(training.spec), training.spec.settings, training.rows->data.preparation));
  const std::uint64_t weights = static_cast<std::uint64_t>(count) * sizeof(float);
  const std::uint64_t least = 2 * weights;  // as they are, and the best
  if (least > memory)
    refuse("{} weights take at least {}, but there are {} of memory in total", count, human_bytes(least),
           human_bytes(memory));
}

// What a fold has to say of it are the same things as of all, in other numbers.
void place_rows(const PreparedTraining& training, const Notes& notes, PreparedRows& rows) {
  EngineRequest request;
  request.device = training.device;
  request.training = rows.data.training;
  request.validation = rows.data.validation;
  place_shared(
      training.settings.fit.placement,
      [&](Severity severity, const std::string& message) {
        if (severity == Severity::warning) notes(severity, message);
      },
      request);
  rows.placed_training = std::move(request.training);
  rows.placed_validation = std::move(request.validation);
}

// Their answers are masks, not a column of the table.
bool reads_cubes(const PreparedTraining& training) {
  return form_of(family_of(training.spec), training.spec.settings).reads_cubes;
}

std::optional<MetricStopping> stopping_of(const PreparedTraining& training) {
  const PreparedData& data = training.rows->data;
  const Network network = network_for(family_of(training.spec), training.spec.settings, data.preparation);
  return metric_stopping(training.spec.training, network, data.preparation, data.validation,
                         given_decision(training.settings.fit.decision));
}

// Candidates are compared one by one, as they come out of training; the winner becomes an ensemble, and what
// is chosen on held-back rows is chosen for it. What it would be refused for then is refused now.
void leave_to_winner(PreparedTraining& training) {
  FitConfig& config = training.settings.fit;
  if (config.stages.is_wanted()) refuse("a sweep does not train in stages; leave out stages");
  refuse_decision_without_rows(training.spec, config);
  config.ensemble = {};
  config.walk_forward = {};
  config.decision = {.decision_threshold = config.decision.decision_threshold};
}

// A metric of classes says nothing about numbers, and the other way round.
void refuse_metric(const std::string& metric, TaskChoice choice) {
  // Which of the two kinds of classes makes no difference.
  const Task task = choice == TaskChoice::regression ? Task::regression : Task::multiclass;
  if (metric == loss_of_training || find_metric(metric)->is_for(task)) return;
  refuse("sweep.metric {} does not fit the task {}; use {}, or {}", metric, config::name_of(choice),
         loss_of_training, join(names_of_metrics(task), ", "));
}

}  // namespace

PreparedTrainings::PreparedTrainings(const SweepDocument& sweep, const std::filesystem::path& cache,
                                     std::filesystem::path decisions, Notes notes, const StopSignal& stop)
    : sweep_(sweep), decisions_(std::move(decisions)), stop_(stop), outputs_(notes_, stop, cache) {
  // Every candidate meets the same peculiarities of the data; one is enough to tell.
  notes_ = [this, notes = std::move(notes)](Severity severity, const std::string& message) {
    if (said_.insert(message).second) notes(severity, message);
  };
}

std::uint64_t PreparedRows::bytes() const {
  std::uint64_t bytes = training.bytes() + validation.bytes();
  for (const Dataset* each : {&data.training, &data.validation, &placed_training, &placed_validation})
    bytes += each->bytes();
  return bytes;
}

std::uint64_t PreparedTrainings::memory() {
  if (memory_) return *memory_;
  memory_ = memory_bytes();
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device == device()) memory_ = std::min(*memory_, info.total_bytes);
  return *memory_;
}

Device PreparedTrainings::device() {
  if (!device_) {
    const Card& train = card_named(sweep_.base, sweep_.train_card);
    device_ = choose_device(train.kind->training(train.config).fit.device, notes_);
  }
  return *device_;
}

std::string PreparedTrainings::data_fingerprint() {
  const std::lock_guard lock(mutex_);
  const std::set<std::string> needed = needed_for(sweep_.base, sweep_.train_card);
  std::string fingerprints;
  for (const Card& card : sweep_.base.cards)
    if (needed.contains(card.id)) fingerprints += outputs_.outside_of(sweep_.base, card).fingerprint + "\n";
  return sha256_of_text(fingerprints);
}

// A target that cannot be compared must not come to light only when the winner is refitted.
void PreparedTrainings::check_tests(const Document& document, const PreparedTraining& training,
                                    const Table& table, const std::string& identity) {
  std::set<std::string> cards;
  for (const Card& card : document.cards) cards.insert(card.id);
  for (const Connection& test : tests_of_model(document, cards, sweep_.train_card)) {
    if (needs_a_model(document, test.card) || reads_cubes(training)) continue;
    const std::string key = fmt::format("{}\n{}\n{}", identity, outputs_.identity_at(document, test),
                                        config::to_yaml(config::write(training.settings.preparation)));
    if (checked_tests_.contains(key)) continue;
    refuse_unusable_targets(std::get<Table>(outputs_.value_at(document, test)), table,
                            training.settings.preparation);
    checked_tests_.insert(key);
  }
}

PreparedRows PreparedTrainings::make_rows(const PreparedTraining& training, const Table& table,
                                          std::int64_t fold) {
  PreparedRows made;
  PreparationConfig settled = training.settings.preparation;
  const std::vector<std::int64_t> classes =
      reads_cubes(training) ? std::vector<std::int64_t>() : classes_of(table, settled, no_notes());
  const SplitRows rows =
      splits_of(table, classes, sweep_.config, training.spec).at(static_cast<std::size_t>(fold));
  if (const std::string purged = purge_text(rows); !purged.empty() && sweep_.config.folds == 0)
    notes_(Severity::info, "validation: " + purged);
  made.training = take_rows(table, rows.first);
  made.validation = take_rows(table, rows.second);
  const bool takes_numbers = family_of(training.spec).targets == Targets::numbers;
  made.task = takes_numbers ? TaskChoice::regression : settled.task;
  if (training.spec.is_solved()) return made;
  // What a fold says of its own columns are the same things as of all, in other numbers.
  const Notes of_fold = [&](Severity severity, const std::string& message) {
    if (severity == Severity::warning) warnings_of_folds_[message].insert(fold);
  };
  made.data = stoker::prepare(made.training, &made.validation, settled,
                              form_of(family_of(training.spec), training.spec.settings), of_fold);
  if (reads_cubes(training)) made.task = choice_of(made.data.preparation.task());
  place_rows(training, notes_, made);
  return made;
}

void PreparedTrainings::check_ranked_classes(const PreparedTraining& training, const Table& table,
                                             const std::string& key) {
  const bool has_classes = family_of(training.spec).targets != Targets::numbers && !reads_cubes(training);
  const Metric* metric = find_metric(sweep_.config.metric);
  const bool ranks = metric != nullptr && metric->needs == MetricNeeds::ranked_classes;
  if (!ranks || !has_classes || checked_classes_.contains(key)) return;
  const PreparationConfig& settings = training.settings.preparation;
  const LearntTarget target = learn_target(table, settings, Scaling::standard, no_notes());
  if (target.task == Task::regression) return;
  const std::vector<std::int64_t> classes =
      target_class_numbers(table, settings.target_column, target.classes);
  refuse_absent_classes(*metric, target, classes, splits_of(table, classes, sweep_.config, training.spec));
  checked_classes_.insert(key);
}

// By all rows, whatever fold they are in.
void PreparedTrainings::settle_features(PreparedTraining& training, const Table& table,
                                        const std::string& key) {
  if (reads_cubes(training)) return;
  PreparationConfig& settings = training.settings.preparation;
  const auto found = features_.find(key);
  if (found != features_.end()) {
    settings.feature_columns = found->second;
    return;
  }
  const InputForm form = form_of(family_of(training.spec), training.spec.settings);
  settings.feature_columns = choose_features(table, settings, form, notes_);
  learn_columns(table, settings, form, notes_);
  features_.emplace(key, settings.feature_columns);
}

void PreparedTrainings::tell_of_folds() {
  const std::lock_guard lock(mutex_);
  for (const auto& [message, folds] : warnings_of_folds_) {
    if (said_.contains(message)) continue;
    notes_(Severity::warning, sweep_.config.folds == 0 ? message
                                                       : fmt::format("{} (in {} of {} folds)", message,
                                                                     folds.size(), sweep_.config.folds));
  }
  warnings_of_folds_.clear();
}

void PreparedTrainings::settle_relative_to(PreparedTraining& training, const Table& table,
                                           const std::string& identity, std::unique_lock<std::mutex>& lock) {
  if (training.settings.preparation.relative_to != RelativeTo::automatic || training.spec.is_solved() ||
      !table.windows || stop_.reason() != StopReason::none)
    return;
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", identity, family_of(training.spec).name,
                                      config::to_yaml(training.spec.settings),
                                      config::to_yaml(config::write(training.spec.training)),
                                      config::to_yaml(config::write(training.settings)));
  const DecidedPreparation decided = decision_for(training, table, key, lock);
  training.settings.preparation.relative_to = decided.preparation.relative_to;
  double& time_limit = training.settings.fit.time_limit;
  time_limit = time_limit_after(time_limit, decided.seconds);
}

DecidedPreparation PreparedTrainings::decision_for(const PreparedTraining& training, const Table& table,
                                                   const std::string& key,
                                                   std::unique_lock<std::mutex>& lock) {
  const auto found = relative_to_.find(key);
  if (found != relative_to_.end()) {
    const std::shared_future<DecidedPreparation> decision = found->second;
    lock.unlock();
    decision.wait();
    lock.lock();
    return decision.get();
  }
  std::promise<DecidedPreparation> decision;
  relative_to_.emplace(key, decision.get_future().share());
  lock.unlock();
  try {
    const DecidedPreparation decided = throwing_errors([&] {
      const FitRequest request{.training = table,
                               .spec = training.spec,
                               .preparation = training.settings.preparation,
                               .config = training.settings.fit,
                               .checkpoints = decisions_ / sha256_of_text(key),
                               .resume = true};
      DecidedPreparation made = decided_preparation(request, no_notes(), stop_);
      // Trainings that the time cut short have decided nothing.
      std::error_code ignored;
      if (stop_.reason() != StopReason::none) std::filesystem::remove_all(request.checkpoints, ignored);
      decision.set_value(made);
      return made;
    });
    lock.lock();
    return decided;
  } catch (const Error& error) {
    lock.lock();
    // Whoever prepares it again, with fewer threads for example, may find more memory.
    if (error.cause() == Cause::machine) relative_to_.erase(key);
    decision.set_exception(std::current_exception());
    throw;
  }
}

std::shared_ptr<const PreparedRows> PreparedTrainings::rows_for(const PreparedTraining& training,
                                                                const Table& table,
                                                                const std::string& rows_key,
                                                                std::int64_t fold) {
  const std::string key = fmt::format("{}\n{}", rows_key, fold);
  if (auto kept = prepared_.find(key)) return kept;
  PreparedRows made = make_rows(training, table, fold);
  const std::uint64_t bytes = made.bytes();
  return prepared_.add(key, std::move(made), bytes);
}

void PreparedTrainings::load() {
  const std::lock_guard lock(mutex_);
  outputs_.value_at(sweep_.base, rows_to_train_on(card_named(sweep_.base, sweep_.train_card)));
}

PreparedTraining PreparedTrainings::prepare(const Document& candidate, std::int64_t fold) {
  std::unique_lock lock(mutex_);
  const Card& train = card_named(candidate, sweep_.train_card);
  const Connection& data = rows_to_train_on(train);
  PreparedTraining training;
  training.settings = train.kind->training(train.config);
  const bool is_ensemble = training.settings.fit.ensemble.is_wanted();
  training.settings.fit.time_limit = shorter_limit(training.settings.fit.time_limit, train.time_limit);
  training.device = device();
  training.spec = std::get<ModelSpec>(outputs_.value_at(candidate, model_to_train(train)));
  const Table table = trainable_rows(std::get<Table>(outputs_.value_at(candidate, data)), training.spec,
                                     training.settings.preparation, notes_);
  const std::string identity = outputs_.identity_at(candidate, data);
  // As a member of an ensemble, a candidate has its fold's rows to be watched on.
  training.keeps_best = is_ensemble || training.spec.training.sets_rows_aside();
  if (!training.spec.is_solved())
    (is_ensemble ? refuse_contradictions : refuse_contradictions_of_one)(training.spec.training);
  if (sweep_.config.folds > 0 && !training.spec.training.validation_ids.empty())
    notes_(
        Severity::warning,
        fmt::format("validation_ids are not used to compare candidates: sweep.folds is {}, so each is "
                    "validated on the rows of its folds; set sweep.folds to 0, or leave out validation_ids",
                    sweep_.config.folds));
  const DecisionConfig decision = training.settings.fit.decision;
  if (!training.settings.fit.stages.is_wanted()) settle_relative_to(training, table, identity, lock);
  leave_to_winner(training);
  check_tests(candidate, training, table, identity);
  const std::string key = rows_key_of(training, identity);
  settle_features(training, table, key);
  check_ranked_classes(training, table, key);
  training.rows = rows_for(training, table, key, fold);
  if (reads_cubes(training) && sweep_.config.metric != loss_of_training)
    refuse("sweep.metric {} is of rows of a table; graphs of nodes are compared by {}", sweep_.config.metric,
           loss_of_training);
  refuse_metric(sweep_.config.metric, training.rows->task);
  refuse_decision_of_task(decision, training.rows->task, training.settings.preparation.target_column);
  refuse_if_too_large(training, memory());
  if (!training.spec.is_solved()) training.stopping = stopping_of(training);
  outputs_.forget_beyond(memory() / kept_share);
  prepared_.forget_beyond(memory() / kept_share);
  return training;
}

}  // namespace stoker
