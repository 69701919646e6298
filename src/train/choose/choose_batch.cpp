#include "train/choose/choose_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text/text.h"
#include "device/device.h"

namespace stoker {
namespace {

constexpr std::int64_t largest_batch = 8192;
constexpr std::int64_t fewest_steps_per_epoch = 16;
constexpr double share_of_fastest = 0.95;
constexpr std::int64_t warm_up_steps = 2;
constexpr double seconds_to_measure = 0.1;
constexpr std::int64_t longest_stretch = 16;
constexpr std::int64_t most_measured_steps = 200;
constexpr int most_probes = 7;

std::uint64_t memory_of(Device device) {
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device == device) return info.total_bytes;
  return 0;
}

Chunk steps_from(std::int64_t first, std::int64_t count) {
  return {first, std::vector<float>(static_cast<std::size_t>(count), 0.0F)};
}

// Trains with one batch size, to see how long a row takes.
class BatchTrial {
 public:
  BatchTrial(const EngineRequest& request, const MakeEngine& make, const ProbeClocks& clocks)
      : request_(request),
        make_(make),
        clocks_(clocks),
        last_(std::max<std::int64_t>(request.steps_per_epoch() - 1, 1)) {
    begin();
  }

  const Engine& engine() const { return *engine_; }

  // Of a row, in the fastest of several stretches of steps. They stay within the first epoch, whose end would
  // be measured too: if it is near, a new engine starts over.
  Probe probe() {
    if (last_ - step_ < std::max<std::int64_t>(steps_of_probe_, 1)) begin();
    Probe fastest{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    double in_all = 0;
    std::int64_t count = 0;
    while (step_ < last_ && in_all < seconds_to_measure && count < most_measured_steps) {
      const std::int64_t more = std::min(std::clamp<std::int64_t>(count, 1, longest_stretch), last_ - step_);
      const Probe stretch = measured(more);
      in_all += stretch.wall_seconds;
      count += more;
      const auto rows = static_cast<double>(more * request_.batch_size);
      const Probe of_row{stretch.wall_seconds / rows, stretch.cpu_seconds / rows};
      const bool is_faster = request_.device.is_cuda() ? of_row.wall_seconds < fastest.wall_seconds
                                                       : of_row.cpu_seconds < fastest.cpu_seconds;
      if (is_faster) fastest = of_row;
    }
    steps_of_probe_ = count;
    return fastest;
  }

 private:
  void begin() {
    engine_ = nullptr;  // its memory first
    engine_ = make_(request_);
    step_ = std::min(warm_up_steps, last_ - 1);
    if (step_ > 0) engine_->run(steps_from(0, step_));
  }

  Probe measured(std::int64_t steps) {
    const double wall = clocks_.wall();
    const double cpu = clocks_.cpu();
    engine_->run(steps_from(step_, steps));
    step_ += steps;
    return {std::max(clocks_.wall() - wall, 1e-9), std::max(clocks_.cpu() - cpu, 1e-9)};
  }

  const EngineRequest& request_;
  const MakeEngine& make_;
  const ProbeClocks& clocks_;
  std::unique_ptr<Engine> engine_;
  std::int64_t step_ = 0;
  std::int64_t last_;
  std::int64_t steps_of_probe_ = 0;
};

struct Unsteady {
  std::int64_t rows = 0;
  double fastest_step = 0;
  double slowest_step = 0;
};

void tell_chosen(std::int64_t chosen, std::span<const TriedBatch> tried,
                 const std::optional<Unsteady>& unsteady, const Notes& notes) {
  std::vector<std::string> lines;
  for (const TriedBatch& each : tried)
    lines.push_back(fmt::format("{}: {:.0f} rows/s", each.rows, each.rows_per_second));
  notes(Severity::info, fmt::format("batch_size auto takes {} rows ({})", chosen, fmt::join(lines, ", ")));
  if (!unsteady) return;
  notes(Severity::warning,
        fmt::format(
            "the machine is too busy to compare batch sizes well: a step of {} rows took {} to {}; set "
            "batch_size to a number, or train when the machine has less to do",
            unsteady->rows, human_seconds(unsteady->fastest_step), human_seconds(unsteady->slowest_step)));
}

}  // namespace

std::vector<std::int64_t> batch_sizes_to_try(std::int64_t training_rows) {
  std::vector<std::int64_t> sizes{std::min(rows_of_given_rate, training_rows)};
  while (2 * sizes.back() <= std::min(largest_batch, training_rows / fewest_steps_per_epoch))
    sizes.push_back(2 * sizes.back());
  return sizes;
}

std::int64_t fastest_batch(std::span<const TriedBatch> tried) {
  const auto fastest = std::ranges::max_element(tried, {}, &TriedBatch::rows_per_second);
  for (const TriedBatch& each : tried)
    if (each.rows_per_second >= share_of_fastest * fastest->rows_per_second) return each.rows;
  return fastest->rows;
}

double rate_factor_of(std::int64_t batch_rows, Optimizer optimizer) {
  const double factor = static_cast<double>(batch_rows) / static_cast<double>(rows_of_given_rate);
  return optimizer == Optimizer::sgd ? factor : std::sqrt(factor);
}

void take_batch(std::int64_t rows, EngineRequest& request, TrainingPlan& plan) {
  request.batch_size = std::min(rows, request.training.rows());
  request.accumulation_steps = std::min(request.accumulation_steps, request.batch_size);
  plan.chosen_batch = request.batch_size;
  plan.steps_per_epoch = request.steps_per_epoch();
  plan.config.batch_size = request.batch_size;
  plan.config.learning_rate *= rate_factor_of(request.batch_size, plan.config.optimizer);
}

std::int64_t choose_batch(EngineRequest request, const MakeEngine& make, const Notes& notes) {
  return choose_batch_by(clocks_of_process(), std::move(request), make, notes);
}

std::int64_t choose_batch_by(const ProbeClocks& clocks, EngineRequest request, const MakeEngine& make,
                             const Notes& notes) {
  const std::uint64_t memory = memory_of(request.device);
  std::vector<TriedBatch> tried;
  std::optional<Unsteady> unsteady;
  for (const std::int64_t rows : batch_sizes_to_try(request.rows_per_epoch())) {
    request.batch_size = rows;
    request.accumulation_steps = std::min(request.accumulation_steps, rows);
    try {
      BatchTrial trial(request, make, clocks);
      const SteadyTime time =
          steady_time(!request.device.is_cuda(), most_probes, [&] { return trial.probe(); });
      if (!tried.empty() && trial.engine().memory().peak > memory - memory / 10) break;
      tried.push_back({rows, 1 / time.seconds()});
      const auto count = static_cast<double>(rows);
      if (!time.is_settled() && !unsteady)
        unsteady = Unsteady{rows, count * time.seconds(), count * time.slowest_seconds()};
    } catch (const OutOfMemory&) {
      if (tried.empty()) throw;
      break;
    } catch (const Error& error) {  // more rows than the engine takes at once
      if (tried.empty() || error.code() != ExitCode::wrong_request) throw;
      break;
    }
  }
  const std::int64_t chosen = fastest_batch(tried);
  tell_chosen(chosen, tried, unsteady, notes);
  return chosen;
}

}  // namespace stoker
