#include "advise/measured_run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

#include "base/time/elapsed.h"
#include "base/time/measure.h"
#include "base/time/trace.h"
#include "device/device.h"
#include "pipeline/run/runner.h"
#include "pipeline/training/training_card.h"

namespace stoker::advise {
namespace {

// What a run tells while it goes on, with the time of each.
class Timeline : public RunListener {
 public:
  struct OfCard {
    Moment began;
    double waited = 0;  // when it began, and from there on the two moments between which the loop is
    double waited_before_loop = 0;
    double waited_until = 0;
    std::vector<StepsSeen> seen;
    std::int64_t planned_steps = 0;
    std::int64_t planned_epochs = 0;
    std::int64_t epochs = 0;
  };

  void run_started(const std::filesystem::path&) override {}
  void card_started(const Card& card) override {
    const std::lock_guard lock(mutex_);
    if (trains(card) && load_peak_ == 0) load_peak_ = peak_memory_bytes();
    current_ = &cards_[card.id];
    current_->began = now();
    current_->waited = seconds_waited_for_core();
  }
  void card_finished(const Card& card, const CardOutcome& outcome) override {
    const std::lock_guard lock(mutex_);
    const auto began = cards_.find(card.id);
    const double waited =
        began == cards_.end() ? 0 : std::max(0.0, seconds_waited_for_core() - began->second.waited);
    finished_.push_back(
        {card.id, trains(card), outcome.reused, outcome.seconds, std::min(waited, outcome.seconds)});
  }
  void epochs_planned(std::int64_t epochs) override {
    const std::lock_guard lock(mutex_);
    if (current_ == nullptr) return;
    current_->planned_epochs = epochs;
    if (current_->seen.empty()) see(0);
  }
  void epoch_finished(const EpochReport&) override {
    const std::lock_guard lock(mutex_);
    if (current_ != nullptr) ++current_->epochs;
  }
  void advanced(std::int64_t step, std::int64_t total, double) override {
    const std::lock_guard lock(mutex_);
    if (current_ == nullptr) return;
    current_->planned_steps = total;
    see(step);
  }
  void note(Severity, const std::string&) override {}

  const std::map<std::string, OfCard>& cards() const { return cards_; }
  const std::vector<MeasuredCard>& finished() const { return finished_; }
  std::uint64_t load_peak() const { return load_peak_; }

 private:
  void see(std::int64_t step) {
    OfCard& card = *current_;
    card.waited_until = seconds_waited_for_core();
    if (card.seen.empty()) card.waited_before_loop = card.waited_until;
    card.seen.push_back({seconds_since(card.began), step, card.epochs, processor_seconds()});
  }

  std::mutex mutex_;  // members of an ensemble tell from threads of their own
  std::map<std::string, OfCard> cards_;
  OfCard* current_ = nullptr;
  std::vector<MeasuredCard> finished_;
  std::uint64_t load_peak_ = 0;
};

double total_of(const Trace& trace, const std::string& name) {
  const std::map<std::string, Trace::Total> totals = trace.totals(TraceKind::training);
  const auto found = totals.find(name);
  return found == totals.end() ? 0 : found->second.seconds;
}

MeasuredTraining training_of(const RunRecord::Training& told, const Timeline& timeline) {
  MeasuredTraining training;
  training.card = told.card;
  training.engine = told.engine;
  training.placement = told.placement;
  training.end = told.end;
  training.batch_size = told.steps_taken.batch_size;
  if (told.device != "cpu") training.device_bytes = told.steps_taken.peak_bytes;
  const auto found = timeline.cards().find(told.card);
  if (found == timeline.cards().end() || found->second.seen.empty()) return training;
  const Timeline::OfCard& card = found->second;
  training.planned_steps = card.planned_steps;
  training.planned_epochs = card.planned_epochs;
  training.loop_seconds = card.seen.back().at - card.seen.front().at;
  training.loop_waited = std::min(card.waited_until - card.waited_before_loop, training.loop_seconds);
  training.pace = pace_of(card.seen, told.device == "cpu");
  return training;
}

// Statistics and what a training evaluates are parts of its card.
void divide_time(const Trace& trace, MeasuredRun& run) {
  bool has_trained = false;
  double cards_seconds = 0;
  for (const MeasuredCard& card : run.cards) {
    cards_seconds += card.seconds;
    if (card.trains) has_trained = true;
    (card.trains   ? run.training_seconds
     : has_trained ? run.evaluation_seconds
                   : run.load_seconds) += card.seconds;
  }
  run.statistics_seconds = std::min(seconds_of_statistics(trace), run.training_seconds);
  run.training_seconds -= run.statistics_seconds;
  const double measuring = std::min(total_of(trace, "measuring on training rows"), run.training_seconds);
  run.training_seconds -= measuring;
  run.evaluation_seconds += measuring + std::max(0.0, run.seconds() - cards_seconds);
}

}  // namespace

double seconds_of_statistics(const Trace& trace) {
  return total_of(trace, "preparing the data") + total_of(trace, "statistics of the nodes");
}

double clock_seconds() {
  return std::chrono::duration<double>(now().time_since_epoch()).count();
}

double MeasuredRun::waited_around_loops() const {
  double around = waited;
  for (const MeasuredTraining& each : trainings) around -= each.loop_waited;
  return std::max(0.0, around);
}

bool MeasuredRun::is_whole() const {
  return std::ranges::none_of(trainings, &MeasuredTraining::was_cut);
}

MeasuredRun measure_run(const RunToMeasure& wanted, const StopSignal& stop) {
  MeasuredRun run;
  run.began = clock_seconds();
  const Document document = load_pipeline(wanted.document, wanted.assignments);
  const Tracing tracing;
  // A step that is looked at in parts takes longer: none is.
  while (Trace::current()->takes_step()) {
  }
  Timeline timeline;
  RunOptions options;
  options.out = wanted.out;
  options.use_cache = wanted.use_cache;
  const RunSummary summary = run_pipeline(document, options, timeline, stop);
  run.ended = clock_seconds();
  run.processor_seconds = processor_seconds();
  run.waited = seconds_waited_for_core();
  run.peak_bytes = peak_memory_bytes();
  run.load_peak_bytes = timeline.load_peak();
  run.compiled_kernels = tracing.trace().totals(TraceKind::background).contains(compiling_kernels);
  run.cards = timeline.finished();
  for (const RunRecord::Training& each : summary.trainings)
    run.trainings.push_back(training_of(each, timeline));
  divide_time(tracing.trace(), run);
  return run;
}

}  // namespace stoker::advise
