#include "advise/advice.h"

#include <algorithm>

#include "base/error.h"

namespace stoker::advise {
namespace {

// What lies closer together than this is the same, as far as a short measurement can tell.
constexpr double same_share = 0.07;
constexpr double same_seconds = 0.1;
// What is known by its steps alone has to be better by this to be preferred to what was run.
constexpr double same_share_of_steps = 0.2;
// Of the guide.
constexpr std::int64_t rule_rows = 200;
constexpr std::int64_t rule_batch = 16;

bool is_gpu(const std::string& device) {
  return device != "cpu";
}

// Of ways that are equally fast, one that was run, with the usual placement, and on the CPU, which others may
// want less.
int preference(const Prediction& way) {
  return (way.was_run ? 4 : 0) + (way.is_usual ? 2 : 0) + (is_gpu(way.device) ? 0 : 1);
}

// Up to here others are as fast as this one.
double bound_of_same(const Prediction& best) {
  const double share = best.was_run ? same_share : same_share_of_steps;
  return best.seconds_without_limit() + std::max(share * best.seconds_without_limit(), same_seconds);
}

// Where rows lie in the memory of a CPU, they are read as quickly as from anywhere else: what a short
// measurement finds between placements there is what else the machine does.
bool is_worth_it(const Prediction& way) {
  return is_gpu(way.device) || way.is_usual;
}

const Prediction& best_of(const std::vector<Prediction>& ways) {
  const Prediction* best = &*std::ranges::find_if(ways, is_worth_it);  // what was run is usual
  for (const Prediction& each : ways)
    if (is_worth_it(each) && each.seconds_without_limit() < best->seconds_without_limit()) best = &each;
  const double bound = bound_of_same(*best);
  for (const Prediction& each : ways)
    if (is_worth_it(each) && each.seconds_without_limit() <= bound && preference(each) > preference(*best))
      best = &each;
  return *best;
}

const std::vector<Work>* works_of(const Measurements& found) {
  return found.steps.empty() ? nullptr : &found.steps.front().works;
}

std::optional<RuleOfThumb> rule_for(const Advice& advice) {
  const std::vector<Work>* works = works_of(advice.found);
  const bool has_gpu = advice.found.devices.size() > 1;
  if (works == nullptr || advice.is_solved || (!has_gpu && !advice.not_estimated.empty()))
    return std::nullopt;
  RuleOfThumb rule;
  for (const Work& work : *works) {
    if (work.is_solved || work.rows <= rule.rows) continue;
    rule.rows = work.rows;
    rule.batch_size = work.batch_size;
  }
  rule.says_gpu = rule.rows >= rule_rows && rule.batch_size >= rule_batch;
  if (has_gpu) {
    rule.disagrees = rule.says_gpu != is_gpu(advice.best.device);
  } else {
    const bool any_pays =
        std::ranges::any_of(advice.gpus, [](const GpuEstimate& each) { return each.pays && each.has_room; });
    rule.disagrees = rule.says_gpu != any_pays;
  }
  return rule;
}

// LibTorch is asked on the CPU, by steps: what it refuses there it refuses on a GPU.
std::string why_libtorch_does_not(const MeasuredSteps& steps, const Work& work) {
  for (const StepLine& line : steps.lines)  // the usual placement comes first
    if (line.card == work.card && line.engine == "eager" && line.is_as_written) return line.refusal;
  return "there was no time to see whether LibTorch takes it";
}

std::string why_not_estimated(const Measurements& found) {
  for (const MeasuredSteps& steps : found.steps) {
    if (steps.device != Device::cpu().name()) continue;
    for (const Work& work : steps.works) {
      if (work.nodes == 0) continue;
      if (std::string why = why_libtorch_does_not(steps, work); !why.empty()) return why;
    }
  }
  return "";
}

}  // namespace

bool Advice::is_steady() const {
  for (const TriedRun& run : found.runs)
    for (const MeasuredTraining& each : run.run.trainings)
      if (each.was_cut && !each.pace.is_steady) return false;
  for (const MeasuredSteps& steps : found.steps)
    for (const StepLine& each : steps.lines)
      if (each.is_as_written && each.refusal.empty() && !each.is_steady) return false;
  return true;
}

double Advice::times_as_written() const {
  if (!as_written || best.seconds <= 0) return 1;
  return as_written->seconds_without_limit() / best.seconds_without_limit();
}

Advice advice_from(Measurements found, const WrittenChoice& written) {
  Advice advice;
  advice.found = std::move(found);
  advice.predictions = predictions_of(advice.found);
  advice.not_estimated = why_not_estimated(advice.found);
  if (advice.predictions.ways.empty()) fail("no way to run the document could be measured here");
  advice.is_solved = std::ranges::all_of(advice.found.runs, [](const TriedRun& each) {
    return std::ranges::all_of(each.run.trainings,
                               [](const MeasuredTraining& training) { return training.planned_steps == 0; });
  });
  advice.best = best_of(advice.predictions.ways);
  advice.as_written = way_as_written(advice.found, advice.predictions, written);
  // Where the document does as well as it is, it stays as it is.
  if (advice.as_written && advice.as_written->seconds_without_limit() <= bound_of_same(advice.best))
    advice.best = *advice.as_written;
  advice.batches = other_batches(advice.found, advice.best);
  advice.precisions = other_precisions(advice.found, advice.best);
  const std::vector<Work>* works = works_of(advice.found);
  if (advice.found.devices.size() < 2 && works != nullptr && !advice.is_solved &&
      advice.not_estimated.empty()) {
    advice.gpus = estimate_gpus(*works, advice.best.seconds_without_limit(), advice.best.all_steps_seconds);
    advice.needed = needed_gpu(*works, advice.best.all_steps_seconds);
  }
  advice.rule = rule_for(advice);
  return advice;
}

}  // namespace stoker::advise
