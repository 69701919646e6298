#include "train/fit/fit_ensemble.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "base/text/text.h"
#include "device/host_memory.h"
#include "predict/decide/out_of_fold.h"
#include "predict/skill/naive_predictions.h"
#include "train/checkpoint/last_checkpoints.h"
#include "train/checkpoint/time_spent.h"
#include "train/choose/choose_batch.h"
#include "train/choose/choose_decision.h"
#include "train/choose/chosen_batches.h"
#include "train/fit/calibrate_deviations.h"
#include "train/fit/fit_network.h"
#include "train/fit/fit_solved.h"
#include "train/fit/trained_member.h"
#include "train/fit/variants.h"
#include "train/group/ensemble_progress.h"
#include "train/group/side_by_side.h"
#include "train/rows/folds.h"
#include "train/rows/place_data.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// What all members have in common, settled on all training rows.
struct Common {
  Preparation preparation;
  std::vector<Variant> variants;  // task and columns are no guess any more
  std::vector<SplitRows> rows;    // of each member: to train on, and held back
  Device device;
};

std::vector<SplitRows> rows_of_members(const Table& table, std::span<const std::int64_t> classes,
                                       const EnsembleConfig& config, std::uint64_t seed) {
  std::vector<SplitRows> all;
  for (std::int64_t repeat = 0; repeat < config.repeats; ++repeat) {
    const std::uint64_t own = repeat == 0 ? seed : seed_of_member(seed, static_cast<std::size_t>(repeat));
    for (SplitRows& each : folds_of(table, classes, config.folds, own)) all.push_back(std::move(each));
  }
  return all;
}

std::vector<std::int64_t> classes_by_row(const Table& table, const Preparation& preparation) {
  if (preparation.task() == Task::regression) return {};
  return preparation.class_targets(table);
}

Common settle(const FitRequest& request, const Notes& notes) {
  Common common;
  common.variants = variants_of(request);
  const bool solved = request.spec.is_solved();
  common.preparation = solved
                           ? prepare_solved(request, notes)
                           : Preparation::fit(request.training, request.preparation,
                                              form_of(family_of(request.spec), request.spec.settings), notes);
  refuse_decision_of_task(request.config.decision, choice_of(common.preparation.task()),
                          common.preparation.target_column());
  for (Variant& each : common.variants) {
    each.preparation.task = choice_of(common.preparation.task());
    if (each.preparation.relative_to == RelativeTo::automatic)
      each.preparation.relative_to = common.preparation.is_relative() ? RelativeTo::last : RelativeTo::none;
    if (request.training.time_order) each.preparation.classes = common.preparation.classes();
    each.preparation.feature_columns = common.preparation.chosen_features();
  }
  common.rows = rows_of_members(request.training, classes_by_row(request.training, common.preparation),
                                request.config.ensemble, request.spec.training.seed);
  common.device = solved ? Device::cpu() : choose_device(request.config.device, notes);
  return common;
}

class EnsembleTraining {
 public:
  EnsembleTraining(const FitRequest& request, TrainingListener& listener, const Notes& notes,
                   const StopSignal& stop)
      : request_(request),
        common_(settle(request, notes)),
        time_spent_(request.spec.is_solved() ? fs::path() : request.checkpoints, request.resume),
        own_batches_(request.checkpoints, request.resume),
        batches_(request.batches == nullptr ? own_batches_ : *request.batches),
        trained_(common_.rows.size()),
        progress_(common_.rows.size(), listener),
        notes_(progress_.notes()) {
    progress_.name_of_member = [this](std::size_t number) { return name_of_member(number); };
    stop_.heed(stop);
    if (request.config.time_limit > 0)
      stop_.stop_after(request.config.time_limit - time_spent_.of_earlier_sittings());
  }

  FitResult fit() {
    try {
      if (common_.device.is_cuda()) {
        train_on_gpu();
      } else {
        train_on_cores();
      }
    } catch (...) {
      time_spent_.keep_if_possible();
      throw;
    }
    FitResult result = result_of_finished();
    result.checkpoints.last_seconds += own_last_.wait();
    result.seconds = time_spent_.seconds();
    return result;
  }

 private:
  // A network that is ready to be trained.
  struct Prepared {
    std::size_t number = 0;
    Model model;  // all but its parameters
    Table held_back;
    std::string placement;
    Member member;
  };

  void train_on_cores() {
    const CpuThreadLimit limit(1);
    const int threads = request_.threads > 0 ? request_.threads : std::max(1, cpu_cores());
    return_freed_memory_at_once();
    fail_allocations_beyond_control_groups(threads);
    work_within_memory(static_cast<std::int64_t>(trained_.size()), threads, stop_,
                       [&](std::int64_t i, bool is_alone) {
                         const auto number = static_cast<std::size_t>(i);
                         if (!is_to_begin(number)) return;
                         try {
                           train_on_core(number, is_alone);
                         } catch (const OutOfMemory& error) {
                           report_lack_of_memory(number, is_alone, error);
                         }
                       });
  }

  void train_on_core(std::size_t number, bool is_alone) {
    throwing_errors([&] {
      if (request_.spec.is_solved()) return solve(number);
      Prepared prepared = prepare_member(number);
      // Smaller parts of a batch are slower than fewer members at once.
      prepared.member.plan.splits_batches = is_alone;
      keep(prepared, train_member(prepared.member, request_.config.engine, stop_));
    });
  }

  [[noreturn]] void report_lack_of_memory(std::size_t number, bool is_alone, const OutOfMemory& error) {
    if (is_alone)
      throw OutOfMemory(
          fmt::format("{}, trained alone: {}; use fewer rows, a smaller model or a smaller batch_size, or "
                      "give the process "
                      "more memory",
                      name_of_member(number), error.what()));
    if (!has_reported_lack_of_memory_.exchange(true))
      notes_(Severity::info,
             "memory does not suffice for so many members of the ensemble at once: fewer are trained at a "
             "time, with the same results");
    throw OutOfMemory(error);
  }

  void train_on_gpu() {
    std::map<std::string, std::vector<Prepared>> groups;
    for (Prepared& prepared : prepare_all()) {
      // Judged by a metric, it trains on an engine of its own.
      const std::string alone = prepared.member.stopping ? fmt::format(" {}", prepared.number) : "";
      groups[group_key(prepared.member.request) + alone].push_back(std::move(prepared));
    }
    for (auto& [key, group] : groups) {
      if (!is_to_begin(group.front().number)) continue;
      std::vector<Member> members;
      for (Prepared& each : group) members.push_back(std::move(each.member));
      train_side_by_side(
          members, request_.config.engine, stop_,
          [&](std::size_t i, MemberResult result) { keep(group[i], std::move(result)); },
          [this] { return stop_.reason() == StopReason::none; });
    }
  }

  std::string name_of_member(std::size_t number) const {
    return fmt::format("member {} of {}", number + 1, trained_.size());
  }

  // The first is trained whatever the time: no member is no model. What an earlier sitting has trained counts
  // too, and does not cost any.
  bool is_to_begin(std::size_t number) const {
    if (stop_.reason() == StopReason::interrupted) throw Error(ExitCode::interrupted, "interrupted");
    return number == 0 || stop_.reason() == StopReason::none || has_begun(number);
  }

  bool has_begun(std::size_t number) const {
    const fs::path folder = checkpoints_of(number);
    std::error_code error;
    return request_.resume && !folder.empty() && !fs::is_empty(folder, error) && !error;
  }

  // Its variant, with a seed of its own.
  Variant settings_of_member(std::size_t number) const {
    Variant own =
        common_.variants[variant_of_member(request_.config.ensemble, number, common_.variants.size())];
    own.spec.training.seed = seed_of_member(request_.spec.training.seed, number);
    return own;
  }

  // Those that are to begin, in their order. The rows of several are made ready at once, as there is room
  // for them beside the table; they are laid on the device one after the other.
  std::vector<Prepared> prepare_all() {
    // As columns and as one array.
    const std::uint64_t of_one = 2 * sizeof(float) * request_.training.column_names().size() *
                                 static_cast<std::uint64_t>(request_.training.rows());
    const std::uint64_t room = free_host_memory() / 4 / std::max<std::uint64_t>(of_one, 1);
    const auto at_once = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(room, 1, static_cast<std::uint64_t>(std::max(1, cpu_cores()))));
    std::vector<Prepared> all;
    for (std::size_t first = 0; first < trained_.size(); first += at_once) {
      std::vector<std::size_t> numbers;
      for (std::size_t number = first; number < std::min(first + at_once, trained_.size()); ++number)
        if (is_to_begin(number)) numbers.push_back(number);
      std::vector<Prepared> some(numbers.size());
      work_side_by_side(static_cast<std::int64_t>(numbers.size()), static_cast<int>(at_once), stop_,
                        [&](std::int64_t i) {
                          const auto at = static_cast<std::size_t>(i);
                          some[at] = prepare_rows(numbers[at]);
                        });
      for (Prepared& each : some) {
        make_ready(each);
        all.push_back(std::move(each));
      }
    }
    return all;
  }

  Prepared prepare_member(std::size_t number) {
    Prepared prepared = prepare_rows(number);
    make_ready(prepared);
    return prepared;
  }

  // What no other member has a part in.
  Prepared prepare_rows(std::size_t number) const {
    const SplitRows& rows = common_.rows[number];
    const auto& [spec, preparation] = settings_of_member(number);
    Prepared prepared;
    prepared.number = number;
    prepared.held_back = take_rows(request_.training, rows.second);
    PreparedData data = prepare(take_rows(request_.training, rows.first), &prepared.held_back, preparation,
                                form_of(family_of(spec), spec.settings), no_notes());
    Member& member = prepared.member;
    member.request = engine_request(spec, data, common_.device, request_.config);
    // One core each, however many there are: the sums of several differ in their last bits.
    member.request.threads = 1;
    member.identity = identity_of(member.request);
    member.stopping = metric_stopping(spec.training, member.request.network, data.preparation,
                                      data.validation, given_decision(request_.config.decision));
    prepared.model = {member.request.network, std::move(data.preparation), {}};
    prepared.model.computed_on = member.request.device;
    return prepared;
  }

  // Lays its rows where the device reads them, and says how it is to be trained.
  void make_ready(Prepared& prepared) {
    const std::size_t number = prepared.number;
    const TrainingSettings config = settings_of_member(number).spec.training;
    Member& member = prepared.member;
    prepared.placement = place_member(request_.config, number == 0 ? &progress_.of_member(0) : nullptr,
                                      member.request, member.identity);
    const bool chooses_batch = config.batch_size == automatic_batch;
    if (chooses_batch) member.request.batch_size = rows_of_given_rate;  // until it is chosen
    member.plan = {.config = config,
                   .rows = member.request.training.rows(),
                   .steps_per_epoch = member.request.steps_per_epoch(),
                   .checkpoint_seconds = request_.config.checkpoint_seconds,
                   .keep = request_.config.keep};
    member.plan.last_checkpoints =
        request_.last_checkpoints == nullptr ? &own_last_ : request_.last_checkpoints;
    member.listener = &progress_.of_member(number);
    if (chooses_batch)
      batches_.settle(
          request_.config.engine,
          [&](Severity severity, const std::string& message) { member.listener->note(severity, message); },
          member.request, member.plan);
    member.checkpoints = checkpoints_of(number);
    if (!request_.resume) Checkpoints(member.checkpoints, {}, no_notes()).clear();
  }

  fs::path checkpoints_of(std::size_t number) const {
    if (request_.checkpoints.empty()) return {};
    return request_.checkpoints / fmt::format("member-{:04}", number + 1);
  }

  void keep(const Prepared& prepared, MemberResult result) {
    if (result.end == MemberEnd::failed || result.end == MemberEnd::diverged)
      throw Error(result.code, fmt::format("{}: {}", name_of_member(prepared.number), result.reason));
    if (!result.reason.empty()) progress_.of_member(prepared.number).note(Severity::warning, result.reason);
    for (std::string& said : result.progress.adjustments.said)
      if (said == result.reason) said = fmt::format("{}: {}", name_of_member(prepared.number), said);
    TrainedMember trained;
    trained.model = prepared.model;
    trained.model.parameters = std::move(result.parameters);
    trained.engine = std::move(result.engine);
    trained.placement = prepared.placement;
    trained.end = result.end == MemberEnd::time_limit ? TrainingEnd::time_limit
                  : result.progress.stopped_early     ? TrainingEnd::stopped_early
                                                      : TrainingEnd::finished;
    trained.checkpoints = result.progress.checkpoints;
    trained.epochs = std::move(result.progress.epochs);
    trained.steps = result.progress.next_step;
    trained.precision = result.precision;
    trained.batch_size = prepared.member.request.batch_size;
    trained.learning_rate = prepared.member.plan.config.learning_rate;
    trained.adjustments = std::move(result.progress.adjustments.said);
    trained.memory = result.memory;
    keep(prepared.number, std::move(trained), prepared.held_back);
  }

  void solve(std::size_t number) {
    const SplitRows& rows = common_.rows[number];
    const Table training = take_rows(request_.training, rows.first);
    auto [spec, preparation] = settings_of_member(number);
    FitRequest own{.training = training,
                   .spec = std::move(spec),
                   .preparation = std::move(preparation),
                   .config = request_.config,
                   .checkpoints = {}};
    own.config.time_limit = 0;  // that of the whole is in the signal
    own.config.decision = {};   // the whole decides
    FitResult solved = fit_solved(own, no_notes(), stop_);
    TrainedMember trained;
    trained.model = std::move(solved.model);
    trained.end = solved.end;
    trained.engine = std::move(solved.engine);
    keep(number, std::move(trained), take_rows(request_.training, rows.second));
  }

  void keep(std::size_t number, TrainedMember trained, const Table& held_back) {
    if (trained.model.preparation.classes() != common_.preparation.classes())
      refuse("ensemble: a class is missing from the rows that member {} of {} is trained on", number + 1,
             trained_.size());
    calibrate_deviations(held_back, trained.model);
    trained.model.held_back = held_back_by(trained.model, held_back, common_.rows[number].second);
    trained_[number] = std::move(trained);
    time_spent_.keep();
    progress_.member_ended(number);
  }

  // Out of time, half-trained members would spoil the mean; they count where there is nothing else.
  std::vector<TrainedMember> members_that_count() {
    const auto is_whole = [](const std::optional<TrainedMember>& each) {
      return each && each->end != TrainingEnd::time_limit;
    };
    const bool any_whole = std::any_of(trained_.begin(), trained_.end(), is_whole);
    std::vector<TrainedMember> members;
    for (std::optional<TrainedMember>& each : trained_)
      if (each && (is_whole(each) || !any_whole)) members.push_back(std::move(*each));
    return members;
  }

  FitResult result_of_finished() {
    const bool all_whole = std::all_of(trained_.begin(), trained_.end(), [](const auto& each) {
      return each && each->end != TrainingEnd::time_limit;
    });
    std::vector<TrainedMember> members = members_that_count();
    FitResult result;
    result.end = all_whole ? TrainingEnd::finished : TrainingEnd::time_limit;
    if (!all_whole)
      notes_(Severity::warning,
             fmt::format("the time limit was reached before all {} members of the ensemble were trained; "
                         "the model consists of {}",
                         trained_.size(), members.size()));
    result.engine = members.front().engine;
    result.device = common_.device.name();
    result.placement = members.front().placement;
    result.epochs = mean_epochs(members);
    tell_of_steps(members, result);
    result.model.network = network_for(family_of(request_.spec), request_.spec.settings, common_.preparation);
    result.model.preparation = std::move(common_.preparation);
    for (TrainedMember& each : members) {
      result.steps += each.steps;
      result.checkpoints.taken += each.checkpoints.taken;
      result.checkpoints.seconds += each.checkpoints.seconds;
      result.checkpoints.last_seconds += each.checkpoints.last_seconds;
      result.model.members.push_back(std::move(each.model));
    }
    result.model.quantile = quantile_of(request_.spec.training);
    learn_training_quantiles(request_.training, result.model);
    if (family_of(result.model.network).scale_variances != nullptr)
      notes_(Severity::info,
             "the deviations of each member were brought to size on the rows that it held back; those of the "
             "whole, which members that disagree make larger, may be a little too large");
    decide_out_of_fold(result);
    tell_what_has_no_prediction(result.model, all_whole);
    return result;
  }

  void decide_out_of_fold(FitResult& result) const {
    const DecisionConfig& config = request_.config.decision;
    if (!config.chooses()) return decide(config, {}, notes_, result);
    if (config.calibration != CalibrationChoice::none && request_.config.ensemble.repeats == 1)
      notes_(Severity::info,
             "the temperature is fitted on predictions of single members, and may be a little too high for "
             "their mean; more repeats of the ensemble bring them closer");
    OutOfFold rows = out_of_fold(result.model);
    decide(config, {{rows.actual.begin(), rows.actual.end()}, std::move(rows.predictions)}, notes_, result);
  }

  void tell_what_has_no_prediction(const Model& ensemble, bool all_whole) const {
    const auto rows = static_cast<std::size_t>(request_.training.rows());
    std::vector<bool> is_predicted(rows, false);
    for (const Model& member : ensemble.members) {
      if (member.held_back.rows.empty()) {
        const Preparation& preparation = ensemble.preparation;
        const std::string too_many =
            preparation.task() == Task::regression
                ? fmt::format("the predictions of {} for {}", counted(rows, "row"),
                              counted(static_cast<std::size_t>(preparation.steps()), "step"))
                : fmt::format("the probabilities of {} for {} classes", counted(rows, "row"),
                              human_count(preparation.classes().size()));
        notes_(Severity::info,
               fmt::format("there are no out-of-fold metrics: {} are more than are kept", too_many));
        return;
      }
      for (const std::int64_t row : member.held_back.rows) is_predicted[static_cast<std::size_t>(row)] = true;
    }
    const auto without = static_cast<std::size_t>(std::ranges::count(is_predicted, false));
    if (without == 0 || !all_whole) return;
    notes_(Severity::info,
           fmt::format("{} of {} training rows {} no out-of-fold prediction: no member held {} back, because "
                       "no other row has {} class",
                       human_count(without), human_count(rows), without == 1 ? "has" : "have",
                       without == 1 ? "it" : "them", without == 1 ? "its" : "their"));
  }

  const FitRequest& request_;
  Common common_;
  TimeSpent time_spent_;
  StopSignal stop_;  // the caller's, the time limit, and for all to stop when one cannot go on
  ChosenBatches own_batches_;
  ChosenBatches& batches_;
  std::vector<std::optional<TrainedMember>> trained_;
  EnsembleProgress progress_;
  const Notes notes_;
  LastCheckpoints own_last_;
  std::atomic<bool> has_reported_lack_of_memory_ = false;
};

void report_unused_validation(const TrainingSettings& training, const Notes& notes) {
  constexpr const char* instead = "each member of the ensemble is validated on the rows of its fold";
  if (!training.validation_ids.empty())
    notes(Severity::warning,
          fmt::format("validation_ids are not used: {}; leave out ensemble to validate on the {}, or leave "
                      "out validation_ids",
                      instead, counted(training.validation_ids.size(), "row")));
  else if (training.validation_ratio > 0)
    notes(Severity::info,
          fmt::format("validation_ratio {} is not used: {}", training.validation_ratio, instead));
}

}  // namespace

std::string problem_of(const EnsembleConfig& config) {
  const auto* kinds = config.variants.get_if<config::Value::Map>();
  if (config.folds == 0 && (config.repeats > 1 || (kinds != nullptr && !kinds->empty())))
    return fmt::format("{} without folds; set folds, for example to 8",
                       config.repeats > 1 ? "repeats are asked for" : "it has variants");
  if (config.folds == 1) return "folds is 1, which leaves no rows to train on; use 2 or more, or 0 for none";
  if (config.members() > static_cast<std::int64_t>(most_members))
    return fmt::format("{} folds with {} repeats make {} members, more than the maximum of {}", config.folds,
                       config.repeats, config.members(), most_members);
  return "";
}

// The two words of a key are 32 bits each of a well-mixed function of both numbers.
std::uint64_t seed_of_member(std::uint64_t seed, std::size_t member) {
  const RandomKey key = random_key(seed, Purpose::member, member);
  return static_cast<std::uint64_t>(key.first) << 32 | key.second;
}

FitResult fit_ensemble(const FitRequest& request, TrainingListener& listener, const Notes& notes,
                       const StopSignal& stop) {
  if (const std::string problem = problem_of(request.config.ensemble); !problem.empty())
    refuse("ensemble: {}", problem);
  if (!request.spec.is_solved()) {
    refuse_contradictions(request.spec.training);
    report_unused_validation(request.spec.training, notes);
  }
  return EnsembleTraining(request, listener, notes, stop).fit();
}

}  // namespace stoker
