#include "train/choose/measured_figures.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/time/elapsed.h"
#include "base/time/measure.h"
#include "train/loop/engines.h"
#include "train/loop/phases.h"
#include "train/loop/ready_engine.h"

namespace stoker {
namespace {

// A stretch is to take this share of the time or so many seconds: beside that, what the host does for a chunk
// is little.
constexpr double share_of_a_stretch = 1.0 / 16;
constexpr double seconds_of_a_stretch = 0.02;
constexpr std::int64_t longest_stretch_of_trial = 1 << 16;
constexpr std::size_t stretches_to_go_by = 9;

const EngineMaker& engine_without_libtorch(const EngineRequest& placed, PlacementChoice) {
  const EngineMaker* maker = taken_without_libtorch(most_demanding_phase(placed));
  if (maker == nullptr) refuse("no engine that needs no LibTorch is the one for this training");
  return *maker;
}

}  // namespace

double step_seconds_within(double seconds, const std::function<void(std::int64_t steps)>& take_steps,
                           const std::function<double()>& clock) {
  const double began = clock();
  const double long_enough = std::min(share_of_a_stretch * seconds, seconds_of_a_stretch);
  std::vector<double> times;  // of a step, by stretches of one length
  for (std::int64_t steps = 1;;) {
    const double before = clock();
    take_steps(steps);
    const double after = clock();
    const double taken = after - before;
    times.push_back(taken / static_cast<double>(steps));
    const bool grows = taken < long_enough && steps < longest_stretch_of_trial;
    const double next = grows ? 2 * taken : taken;
    if (after - began + next > seconds || times.size() == stretches_to_go_by)
      return median_and_spread(times).median;
    if (!grows) continue;
    steps *= 2;
    times.clear();
  }
}

Trial measured_figures(const std::function<EngineRequest()>& make_request, const std::string& model,
                       double seconds) {
  const Moment began = now();
  const auto clock = [began] { return seconds_since(began); };
  Trial trial;
  try {
    const EngineRequest request = make_request();
    const ReadyEngine ready =
        ready_engine(request, {PlacementConfig{}, asking_engines(EngineChoice::fused, std::nullopt)},
                     engine_without_libtorch);
    const double left = seconds - clock();
    if (left <= 0) return trial;
    std::int64_t next = 1;
    const auto take_steps = [&](std::int64_t steps) {
      ready.engine->run({next, std::vector<float>(static_cast<std::size_t>(steps), 0.0F)});
      next += steps;
    };
    const double step = step_seconds_within(left, take_steps, clock);
    // A kernel that was compiled is kept, and nobody will wait for it again.
    trial.figures = {request.device.name(), model, std::string(ready.engine->name()), step,
                     ready.seconds - ready.choosing_seconds};
  } catch (const Error& error) {
    if (error.code() != ExitCode::wrong_request && dynamic_cast<const OutOfMemory*>(&error) == nullptr) throw;
    trial.is_possible = false;
  }
  return trial;
}

}  // namespace stoker
