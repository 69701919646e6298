#include "advise/step_pace.h"

#include <algorithm>

#include "base/time/steady_time.h"

namespace stoker::advise {
namespace {

double seconds_a_step(const StepsSeen& from, const StepsSeen& to) {
  return (to.at - from.at) / static_cast<double>(std::max<std::int64_t>(to.steps - from.steps, 1));
}

// Looks right behind an epoch's end; the first chunk is left out.
std::pair<const StepsSeen*, const StepsSeen*> ends_of_epochs(std::span<const StepsSeen> seen) {
  const StepsSeen* first = nullptr;
  const StepsSeen* last = nullptr;
  for (std::size_t i = 1; i < seen.size(); ++i) {
    if (seen[i].epochs == seen[i - 1].epochs) continue;
    if (first == nullptr)
      first = &seen[i];
    else
      last = &seen[i];
  }
  return {first, last};
}

// Stretches between two looks in which no epoch ended.
SteadyTime steady_step(std::span<const StepsSeen> seen, bool is_on_cpu) {
  SteadyTime time(is_on_cpu);
  for (std::size_t i = seen.size() > 2 ? 2 : 1; i < seen.size(); ++i) {
    const auto steps = static_cast<double>(seen[i].steps - seen[i - 1].steps);
    if (steps > 0 && seen[i].epochs == seen[i - 1].epochs)
      time.add(
          {(seen[i].at - seen[i - 1].at) / steps, (seen[i].cpu_seconds - seen[i - 1].cpu_seconds) / steps});
  }
  return time;
}

// The share of the time that a training on the CPU would have taken had it had its cores to itself.
double share_without_others(std::span<const StepsSeen> seen, const SteadyTime& step) {
  constexpr double busy = 0.8;  // above, it was alone as far as can be told
  const StepsSeen& first = seen[seen.size() > 2 ? 1 : 0];
  const double wall = seen.back().at - first.at;
  const double cpu = seen.back().cpu_seconds - first.cpu_seconds;
  if (wall <= 0 || cpu <= 0) return 1;
  const double share = cpu / (wall * step.threads());
  return share < busy ? share : 1;
}

Pace pace_by_clock(std::span<const StepsSeen> seen) {
  Pace pace;
  if (seen.size() < 2) return pace;
  pace.is_of_first_chunk = seen.size() == 2;
  pace.steps = seen.back().steps;
  if (const auto [first, last] = ends_of_epochs(seen); last != nullptr) {
    pace.step_seconds = seconds_a_step(*first, *last);
    pace.has_seen_an_epoch = true;
    return pace;
  }
  double seconds = 0;
  std::int64_t steps = 0;
  const StepsSeen* before_end = nullptr;
  const std::size_t from = seen.size() > 2 ? 2 : 1;
  for (std::size_t i = from; i < seen.size(); ++i) {
    if (seen[i].epochs != seen[i - 1].epochs) {
      before_end = &seen[i - 1];
      continue;
    }
    seconds += seen[i].at - seen[i - 1].at;
    steps += seen[i].steps - seen[i - 1].steps;
  }
  if (steps == 0) {
    pace.step_seconds = seconds_a_step(seen[from - 1], seen.back());
    pace.has_seen_an_epoch = seen.back().epochs > 0;
    return pace;
  }
  pace.step_seconds = seconds / static_cast<double>(steps);
  if (before_end == nullptr) return pace;
  const StepsSeen& end = *(before_end + 1);
  pace.has_seen_an_epoch = true;
  pace.epoch_seconds = std::max(
      0.0, end.at - before_end->at - pace.step_seconds * static_cast<double>(end.steps - before_end->steps));
  return pace;
}

}  // namespace

Pace pace_of(std::span<const StepsSeen> seen, bool is_on_cpu) {
  Pace pace = pace_by_clock(seen);
  if (!is_on_cpu || seen.size() < 2) return pace;
  const SteadyTime step = steady_step(seen, true);
  pace.is_steady = step.probes() < 2 || step.is_settled();
  const double share = share_without_others(seen, step);
  pace.step_seconds *= share;
  pace.epoch_seconds *= share;
  return pace;
}

}  // namespace stoker::advise
