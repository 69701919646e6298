#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "base/time/measure.h"
#include "cli/bench/bench.h"
#include "cli/view/terminal.h"
#include "data/placement/dataset.h"
#include "device/device.h"
#include "model/family.h"
#include "torch/door.h"

namespace stoker::cli {
namespace {

constexpr std::int64_t series_columns = 29;
constexpr std::int64_t window_length = 20;
constexpr std::int64_t class_count = 3;

// A standard normal series; the class is whether the first column's mean over the last three moments of a
// window is low, middling or high.
Dataset window_table() {
  const std::int64_t moments = bench_windows + window_length - 1;
  Array series(DType::float32, {moments, series_columns});
  Array starts(DType::int64, {bench_windows});
  Array classes(DType::int64, {bench_windows});
  const RandomKey key = random_key(42, Purpose::sample, 0);
  std::uint32_t index = 0;
  for (float& each : series.as<float>()) each = static_cast<float>(normal(key, index++));
  for (std::int64_t row = 0; row < bench_windows; ++row) {
    starts.as<std::int64_t>()[static_cast<std::size_t>(row)] = row;
    double sum = 0;
    for (std::int64_t i = window_length - 3; i < window_length; ++i)
      sum += series.as<float>()[static_cast<std::size_t>((row + i) * series_columns)];
    classes.as<std::int64_t>()[static_cast<std::size_t>(row)] = sum < -0.75 ? 0 : sum < 0.75 ? 1 : 2;
  }
  return {{{"window", Role::features, series, starts, window_length}, {"targets", Role::targets, classes}}};
}

EngineRequest window_request(const std::string& family, const Dataset& placed, Device device,
                             std::int64_t batch, const BenchOptions& options) {
  EngineRequest request;
  request.network = {family,
                     config::write_fields(family_named(family).describe().fields),
                     {{"window", Role::features, DType::float32, {window_length, series_columns}}},
                     class_count};
  request.loss().kind = Loss::cross_entropy;
  request.optimizer.kind = Optimizer::adamw;
  request.optimizer.weight_decay = 1e-2;
  request.optimizer.max_grad_norm = 0.5;
  fill_in(options, placed, device, batch, request);
  return request;
}

// Multiply-adds of a large fp32 matrix product on the threads that a training has. A second of the processor
// is one of all threads together: on a machine that others use as well, it tells what the clock cannot.
struct MachineRate {
  double in_a_second = 0;
  double in_a_processor_second = 0;
};

MachineRate rate_of_machine(const BenchOptions& options) {
  std::int64_t in_one = 0;
  const Measured product = measure(
      [&](std::int64_t times) { in_one = torch_door::multiply_large_matrices(times, options.threads); },
      options.seconds);
  const auto work = static_cast<double>(in_one);
  return {work / product.seconds_per_unit, work / product.processor_seconds_per_unit};
}

// What a step reaches of what a large product does, measured before the step and after it.
void tell_share_of_rate(const std::vector<BenchLine>& lines, const EngineRequest& request,
                        const MachineRate& before, const MachineRate& after) {
  const double rate = (before.in_a_second + after.in_a_second) / 2;
  const double processor_rate = (before.in_a_processor_second + after.in_a_processor_second) / 2;
  // Forward, and backward to the weights and to the inputs.
  const double work = 3.0 * static_cast<double>(request.batch_size * multiply_adds(request.network));
  for (const BenchLine& line : lines)
    tell(fmt::format(
        "  {} at batch {}: {:.1f} million multiply-adds a step. A large fp32 matrix product on as many "
        "threads does {:.1f} thousand million a second ({:.1f} a second of the processor); the step has "
        "{:.0f} % of that rate, {:.0f} % by the processor's time",
        line.engine, line.batch, work / 1e6, rate / 1e9, processor_rate / 1e9,
        100 * work / (1e-6 * line.us_per_step) / rate,
        100 * work / (1e-6 * line.processor_us_per_step) / processor_rate));
}

}  // namespace

void bench_sequences(const std::string& workload, const std::string& family, const BenchOptions& options,
                     Comparison& comparison,
                     const std::function<void(std::int64_t batch, Device device)>& after_batch) {
  std::vector<EngineChoice> choices;
  for (const std::string& name : options.engines) choices.push_back(engine_named(name));
  const Notes notes = [](Severity, const std::string& message) { tell(message); };
  const Device device = choose_device(options.device, notes);
  const TrainingBench bench(workload, options, device);
  const Placement placed = place(window_table(), device, notes);
  for (const std::int64_t batch : options.batches) {
    for (const EngineChoice choice : choices) {
      const EngineRequest request = window_request(family, placed.dataset, device, batch, options);
      MachineRate before;
      if (!device.is_cuda()) before = rate_of_machine(options);
      const std::vector<BenchLine> lines = bench.measure_steps(request, choice, comparison);
      if (!device.is_cuda()) tell_share_of_rate(lines, request, before, rate_of_machine(options));
    }
    after_batch(batch, device);
  }
}

}  // namespace stoker::cli
