#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/time/elapsed.h"
#include "cli/bench/bench_experts.h"
#include "cli/view/terminal.h"
#include "model/family.h"
#include "train/loop/engines.h"
#include "train/stages/structure_changes.h"

namespace stoker::cli {
namespace {

// Measured, behind the first, which makes what later ones find made: as many as go into some seconds.
constexpr std::size_t fewest_sleeps = 3;
constexpr std::size_t most_sleeps = 20;
constexpr double seconds_of_sleeps = 10;

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// A training with its looks and sleeps, but without checkpoints.
class SleepingTraining {
 public:
  SleepingTraining(const EngineRequest& request, EngineChoice choice, float rate)
      : engine_(choose_engine(engines(), choice, {}, request).make(request)),
        changes_(request, progress_),
        rate_(rate) {}

  const Engine& engine() const { return *engine_; }

  // To the next sleep, and through it.
  void run() {
    const std::int64_t sleeps = sleeps_so_far();
    double of_steps = 0;
    double of_edits = 0;
    std::int64_t steps = 0;
    while (sleeps_so_far() == sleeps) {
      const std::int64_t count = changes_.steps_until_next(progress_);
      const Moment begin = now();
      engine_->run({progress_.next_step, std::vector<float>(static_cast<std::size_t>(count), rate_)});
      of_steps += seconds_since(begin);
      const Moment end = now();
      progress_.next_step += count;
      steps += count;
      changes_.after_chunk(*engine_, progress_, nobody_);
      of_edits += seconds_since(end);
    }
    seconds_of_step.push_back(of_steps / static_cast<double>(steps));
    seconds_of_sleep.push_back(of_edits);
    shares.push_back(of_edits / (of_steps + of_edits));
  }

  std::vector<double> seconds_of_step, seconds_of_sleep, shares;

 private:
  std::int64_t sleeps_so_far() const { return progress_.structure.json().at("sleeps").get<std::int64_t>(); }

  std::unique_ptr<Engine> engine_;
  Progress progress_;
  StructureChanges changes_;
  float rate_;
  NobodyListens nobody_;
};

}  // namespace

void bench_sleeps(const EngineRequest& request, EngineChoice choice, const ExpertBenchOptions& options,
                  const std::string& workload) {
  SleepingTraining training(request, choice, options.learning_rate);
  training.run();
  training.seconds_of_step.clear();
  training.seconds_of_sleep.clear();
  training.shares.clear();
  const Moment begin = now();
  while (training.shares.size() < fewest_sleeps ||
         (training.shares.size() < most_sleeps && seconds_since(begin) < seconds_of_sleeps))
    training.run();
  const double step = 1e6 * middle_of(training.seconds_of_step);
  const double sleep = 1e3 * middle_of(training.seconds_of_sleep);
  const double longest = 1e3 * std::ranges::max(training.seconds_of_sleep);
  const double share = 100 * middle_of(training.shares);
  const Engine& engine = training.engine();
  if (options.json)
    return print_data(nlohmann::json{{"workload", workload},
                                     {"batch", request.batch_size},
                                     {"engine", engine.name()},
                                     {"device", request.device.name()},
                                     {"precision", config::name_of(engine.precision())},
                                     {"steps_between", options.sleeps},
                                     {"us_per_step", step},
                                     {"ms_per_sleep", sleep},
                                     {"longest_ms", longest},
                                     {"sleeps", training.shares.size()},
                                     {"percent_of_time", share}}
                          .dump() +
                      "\n");
  print(fmt::format(
      "{}, {} on {}, batches of {}: {:.1f} µs a step, {:.2f} ms a sleep (the longest of {} {:.2f} ms); "
      "sleeps every {} steps take {:.1f} % of the time\n",
      workload, engine.name(), request.device.name(), request.batch_size, step, sleep, training.shares.size(),
      longest, options.sleeps, share));
}

}  // namespace stoker::cli
