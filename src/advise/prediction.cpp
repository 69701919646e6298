#include "advise/prediction.h"

#include <algorithm>
#include <optional>

namespace stoker::advise {
namespace {

// A row that is only predicted takes a third of what one takes that is trained on: there is no way back.
constexpr double share_of_forward = 1.0 / 3;
// What LibTorch takes of memory by itself.
constexpr std::uint64_t libtorch_bytes = std::uint64_t{116} << 20;

const Work* known_work(const Measurements& found, const std::string& card) {
  for (const MeasuredSteps& steps : found.steps)
    for (const Work& each : steps.works)
      if (each.card == card) return &each;
  return nullptr;
}

const MeasuredSteps* steps_of(const Measurements& found, const std::string& device) {
  for (const MeasuredSteps& each : found.steps)
    if (each.device == device) return &each;
  return nullptr;
}

// The seconds of a card in a run that did not reuse its result, without the time that it waited for a core.
std::optional<double> seconds_of_card(const Measurements& found, const std::string& id) {
  for (const auto* runs : {&found.first_runs, &found.runs})
    for (const TriedRun& each : *runs)
      for (const MeasuredCard& card : each.run.cards)
        if (card.id == id && !card.reused) return card.seconds - card.waited;
  return std::nullopt;
}

// Loading and evaluation as they would be on a quiet machine. The waits of the loops are left to pace_of().
double waited_around(const TriedRun& tried) {
  double loops = 0;
  for (const MeasuredTraining& each : tried.run.trainings) loops += each.loop_seconds;
  return std::min(tried.run.waited_around_loops(), std::max(0.0, tried.seconds() - loops));
}

// A run that found its rows in the cache is taken to have read them as the one before it did.
double seconds_without_cache(const Measurements& found, const TriedRun& tried) {
  double seconds = tried.seconds() - waited_around(tried);
  for (const MeasuredCard& card : tried.run.cards) {
    const double own = card.seconds - card.waited;
    if (card.reused) seconds += seconds_of_card(found, card.id).value_or(own) - own;
  }
  return seconds;
}

// Nor did it need the memory to read them.
std::uint64_t peak_without_cache(const Measurements& found, const TriedRun& tried) {
  std::uint64_t peak = tried.run.peak_bytes;
  if (std::ranges::none_of(tried.run.cards, &MeasuredCard::reused)) return peak;
  for (const auto* runs : {&found.first_runs, &found.runs})
    for (const TriedRun& each : *runs) peak = std::max(peak, each.run.load_peak_bytes);
  return peak;
}

const StepLine* line_of(const MeasuredSteps& steps, const std::string& card, const std::string& engine,
                        const std::string& placement) {
  for (const StepLine& each : steps.lines)
    if (each.card == card && each.engine == engine && each.placement == placement && each.is_as_written &&
        each.refusal.empty())
      return &each;
  return nullptr;
}

// Everything around the steps, the steps, and those that time limits leave.
struct Parts {
  double around = 0;
  double all_steps = 0;
  double loop = 0;
};

double within_limit(double seconds, double limit) {
  return limit > 0 ? std::min(seconds, limit) : seconds;
}

// A step as it was measured by itself; 0: it was not.
double steady_step(const Measurements& found, const TriedRun& tried, const MeasuredTraining& training) {
  const MeasuredSteps* steps = steps_of(found, tried.device);
  const StepLine* line =
      steps == nullptr ? nullptr : line_of(*steps, training.card, training.engine, training.placement);
  return line == nullptr ? 0 : line->step_seconds;
}

Parts parts_of(const Measurements& found, const TriedRun& tried) {
  Parts parts;
  parts.around = seconds_without_cache(found, tried);
  for (const MeasuredTraining& each : tried.run.trainings) {
    parts.around -= each.loop_seconds;
    const double all_steps =
        loop_seconds_of(each, known_work(found, each.card), steady_step(found, tried, each));
    parts.all_steps += all_steps;
    parts.loop += within_limit(all_steps, each.time_limit);
  }
  return parts;
}

std::string engine_of(const TriedRun& tried) {
  for (const MeasuredTraining& each : tried.run.trainings)
    if (each.planned_steps > 0) return each.engine;
  return tried.run.trainings.empty() ? "" : tried.run.trainings.front().engine;
}

std::string placement_of(const TriedRun& tried) {
  for (const MeasuredTraining& each : tried.run.trainings)
    if (each.planned_steps > 0) return each.placement;
  return "host";
}

Prediction of_run(const Measurements& found, const TriedRun& tried) {
  const Parts parts = parts_of(found, tried);
  Prediction way{tried.device, engine_of(tried), placement_of(tried)};
  way.seconds = parts.around + parts.loop;
  way.training_seconds = parts.loop;
  way.all_steps_seconds = parts.all_steps;
  way.peak_bytes = peak_without_cache(found, tried);
  for (const MeasuredTraining& each : tried.run.trainings)
    way.device_bytes = std::max(way.device_bytes, each.device_bytes);
  way.was_run = true;
  way.is_usual = true;
  way.is_measured = tried.run.is_whole();
  return way;
}

// The trainings' limits together, 0 where one of them has none.
double limit_of(const Measurements& found) {
  double limit = 0;
  for (const MeasuredTraining& each : found.runs.front().run.trainings) {
    if (each.planned_steps == 0) continue;
    if (each.time_limit == 0) return 0;
    limit += each.time_limit;
  }
  return limit;
}

// How many times as long the steps take as in a way that was run, and how much longer it takes to begin. None
// where some training cannot be taken so.
struct Compared {
  double times = 1;
  double later = 0;
  std::uint64_t training_bytes = 0;
};

std::optional<Compared> compared(const MeasuredSteps& steps, const std::string& engine,
                                 const std::string& placement, const Prediction& base) {
  double own = 0;
  double bases = 0;
  Compared result;
  for (const Work& work : steps.works) {
    if (work.is_solved) continue;
    const StepLine* line = line_of(steps, work.card, engine, placement);
    const StepLine* first = line_of(steps, work.card, base.engine, base.placement);
    if (line == nullptr || first == nullptr) return std::nullopt;
    const auto count = static_cast<double>(work.epochs) * static_cast<double>(work.rows) /
                       static_cast<double>(std::max<std::int64_t>(work.batch_size, 1));
    // Of one engine, with its one number of threads, the processor's time tells what others on the machine
    // hide from the clock.
    const bool by_processor = steps.device == "cpu" && line->engine == first->engine &&
                              line->processor_seconds > 0 && first->processor_seconds > 0;
    own += count * (by_processor ? line->processor_seconds : line->step_seconds);
    bases += count * (by_processor ? first->processor_seconds : first->step_seconds);
    result.later += line->ready_seconds - first->ready_seconds;
    result.training_bytes += work.training_bytes;
  }
  if (bases <= 0) return std::nullopt;
  result.times = own / bases;
  return result;
}

Prediction by_steps(const Prediction& base, const std::string& engine, const std::string& placement,
                    const Compared& compared, double limit) {
  Prediction way = base;
  way.engine = engine;
  way.placement = placement;
  way.all_steps_seconds = base.all_steps_seconds * compared.times;
  way.training_seconds = within_limit(way.all_steps_seconds, limit);
  way.seconds = std::max(
      0.0, base.seconds + way.training_seconds - base.training_seconds + std::max(0.0, compared.later));
  // Rows that are dealt out to shards lie there twice for a moment.
  if (placement != base.placement) way.peak_bytes += compared.training_bytes;
  if (engine != base.engine && base.engine == "fused") way.peak_bytes += libtorch_bytes;
  way.was_run = false;
  way.is_measured = false;
  way.is_usual = placement == base.placement;
  return way;
}

bool has_way(const std::vector<Prediction>& ways, const StepLine& line, const std::string& device) {
  return std::ranges::any_of(ways, [&](const Prediction& each) {
    return each.device == device && each.engine == line.engine && each.placement == line.placement;
  });
}

// A run of the same engine says more than one of another.
const Prediction* base_for(const std::vector<Prediction>& ways, const std::string& device,
                           const std::string& engine) {
  const Prediction* any = nullptr;
  for (const Prediction& each : ways) {
    if (each.device != device || !each.was_run) continue;
    if (each.engine == engine) return &each;
    if (any == nullptr) any = &each;
  }
  return any;
}

void add_by_steps(const MeasuredSteps& steps, double limit, Predictions& predictions) {
  for (const StepLine& line : steps.lines) {
    if (!line.is_as_written) continue;
    if (!line.refusal.empty()) {
      predictions.impossible.push_back({steps.device, line.engine, line.placement, line.refusal});
      continue;
    }
    if (has_way(predictions.ways, line, steps.device)) continue;
    const Prediction* base = base_for(predictions.ways, steps.device, line.engine);
    if (base == nullptr) continue;
    const Prediction from = *base;
    if (const auto found = compared(steps, line.engine, line.placement, from))
      predictions.ways.push_back(by_steps(from, line.engine, line.placement, *found, limit));
  }
}

std::vector<Change> changes_of(const Measurements& found, const Prediction& way, bool of_batch) {
  const MeasuredSteps* steps = steps_of(found, way.device);
  if (steps == nullptr || steps->works.size() != 1 || steps->works.front().is_solved) return {};
  const Work& work = steps->works.front();
  const StepLine* base = nullptr;
  for (const StepLine& each : steps->lines)
    if (each.is_as_written && each.engine == way.engine && each.placement == way.placement &&
        each.refusal.empty())
      base = &each;
  constexpr double no_step = 1e-7;  // nothing is trained by gradients in one that is as short
  if (base == nullptr || base->step_seconds < no_step) return {};
  const auto steps_with = [&](std::int64_t batch) { return (work.rows + batch - 1) / batch; };
  std::vector<Change> changes;
  for (const StepLine& each : steps->lines) {
    const bool is_other_batch = each.batch_size != base->batch_size;
    if (each.is_as_written || !each.refusal.empty() || is_other_batch != of_batch) continue;
    if (each.engine != way.engine || each.placement != way.placement) continue;
    if (!of_batch && each.precision == base->precision) continue;
    const double times = each.step_seconds * static_cast<double>(steps_with(each.batch_size)) /
                         (base->step_seconds * static_cast<double>(steps_with(base->batch_size)));
    const double training = within_limit(way.all_steps_seconds * times, limit_of(found));
    changes.push_back({each.batch_size, each.precision, way.seconds - way.training_seconds + training,
                       each.step_seconds, steps_with(each.batch_size)});
  }
  std::ranges::sort(changes, {}, &Change::seconds);
  return changes;
}

}  // namespace

double loop_seconds_of(const MeasuredTraining& training, const Work* work, double steady_step_seconds) {
  if (training.planned_steps == 0 || !training.was_cut) return training.loop_seconds;
  const Pace& pace = training.pace;
  const auto epochs = static_cast<double>(training.planned_epochs);
  double step = pace.step_seconds;
  double seconds = step * static_cast<double>(training.planned_steps);
  // What a first chunk makes ready is done once.
  const bool is_warming_up = pace.is_of_first_chunk && 0 < steady_step_seconds && steady_step_seconds < step;
  if (is_warming_up) {
    step = steady_step_seconds;
    seconds = training.loop_seconds + step * static_cast<double>(training.planned_steps - pace.steps);
  }
  if (pace.has_seen_an_epoch && !is_warming_up) return seconds + pace.epoch_seconds * epochs;
  if (work == nullptr || training.batch_size <= 0) return seconds;
  const double row_seconds = step / static_cast<double>(training.batch_size);
  return seconds + epochs * static_cast<double>(work->validation_rows) * row_seconds * share_of_forward;
}

Predictions predictions_of(const Measurements& found) {
  Predictions predictions;
  for (const TriedRun& each : found.runs) predictions.ways.push_back(of_run(found, each));
  if (found.runs.empty()) return predictions;
  for (const MeasuredSteps& each : found.steps) add_by_steps(each, limit_of(found), predictions);
  std::ranges::stable_sort(predictions.ways, {}, &Prediction::seconds_without_limit);
  return predictions;
}

std::vector<Change> other_batches(const Measurements& found, const Prediction& way) {
  return changes_of(found, way, true);
}

std::vector<Change> other_precisions(const Measurements& found, const Prediction& way) {
  return changes_of(found, way, false);
}

}  // namespace stoker::advise
