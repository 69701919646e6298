#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/measure.h"
#include "cli/terminal.h"
#include "data/dataset.h"
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
  request.batch_size = batch;
  request.precision = precision_named(options.precision);
  request.seed = 42;
  request.device = device;
  request.threads = options.threads;
  request.training = placed;
  request.initial_parameters = initial_parameters(request.network, request.seed);
  return request;
}

// Multiply-adds a second.
double rate_of_machine(double seconds) {
  std::int64_t in_one = 0;
  const Measured product =
      measure([&](std::int64_t times) { in_one = torch_door::multiply_large_matrices(times); }, seconds);
  const double rate = static_cast<double>(in_one) / product.seconds_per_unit;
  tell(fmt::format(
      "a large fp32 matrix product on all threads: {:.1f} thousand million multiply-adds a second",
      rate / 1e9));
  return rate;
}

// What a step reaches of what a large product does.
void tell_share_of_rate(const std::vector<BenchLine>& lines, const EngineRequest& request, double rate) {
  // Forward, and backward to the weights and to the inputs.
  const double work = 3.0 * static_cast<double>(request.batch_size * multiply_adds(request.network));
  for (const BenchLine& line : lines)
    tell(fmt::format("  {} at batch {}: {:.1f} million multiply-adds a step, {:.0f} % of the machine's rate",
                     line.engine, line.batch, work / 1e6, 100 * work / (1e-6 * line.us_per_step) / rate));
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
  const double rate = device.is_cuda() ? 0 : rate_of_machine(options.seconds);
  for (const std::int64_t batch : options.batches) {
    for (const EngineChoice choice : choices) {
      const EngineRequest request = window_request(family, placed.dataset, device, batch, options);
      const std::vector<BenchLine> lines = bench.measure_steps(request, choice, comparison);
      if (rate > 0) tell_share_of_rate(lines, request, rate);
    }
    after_batch(batch, device);
  }
}

}  // namespace stoker::cli
