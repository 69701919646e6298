#include "train/choose_batch.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/elapsed.h"
#include "base/error.h"
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

std::uint64_t memory_of(Device device) {
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device == device) return info.total_bytes;
  return 0;
}

Chunk steps_from(std::int64_t first, std::int64_t count) {
  return {first, std::vector<float>(static_cast<std::size_t>(count), 0.0F)};
}

// Within the first epoch, whose end would be measured too.
TriedBatch measured(Engine& engine, const EngineRequest& request) {
  const std::int64_t last = std::max<std::int64_t>(request.steps_per_epoch() - 1, 1);
  std::int64_t step = std::min(warm_up_steps, last - 1);
  if (step > 0) engine.run(steps_from(0, step));
  // The fastest stretch: whatever else the machine does only makes others slower.
  double fastest = 0;
  double in_all = 0;
  std::int64_t count = 0;
  while (step < last && in_all < seconds_to_measure && count < most_measured_steps) {
    const std::int64_t more = std::min(std::clamp<std::int64_t>(count, 1, longest_stretch), last - step);
    const Moment begin = now();
    engine.run(steps_from(step, more));
    const double seconds = std::max(seconds_since(begin), 1e-9);
    fastest = std::max(fastest, static_cast<double>(more * request.batch_size) / seconds);
    in_all += seconds;
    step += more;
    count += more;
  }
  return {request.batch_size, fastest};
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
  const std::uint64_t memory = memory_of(request.device);
  std::vector<TriedBatch> tried;
  for (const std::int64_t rows : batch_sizes_to_try(request.rows_per_epoch())) {
    request.batch_size = rows;
    request.accumulation_steps = std::min(request.accumulation_steps, rows);
    try {
      const std::unique_ptr<Engine> engine = make(request);
      const TriedBatch result = measured(*engine, request);
      if (!tried.empty() && engine->memory().peak > memory - memory / 10) break;
      tried.push_back(result);
    } catch (const OutOfMemory&) {
      if (tried.empty()) throw;
      break;
    } catch (const Error& error) {  // more rows than the engine takes at once
      if (tried.empty() || error.code() != ExitCode::wrong_request) throw;
      break;
    }
  }
  const std::int64_t chosen = fastest_batch(tried);
  std::vector<std::string> lines;
  for (const TriedBatch& each : tried)
    lines.push_back(fmt::format("{}: {:.0f} rows/s", each.rows, each.rows_per_second));
  notes(Severity::info, fmt::format("batch_size auto takes {} rows ({})", chosen, fmt::join(lines, ", ")));
  return chosen;
}

}  // namespace stoker
