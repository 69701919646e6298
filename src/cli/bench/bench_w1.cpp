#include <vector>

#include <fmt/ranges.h>

#include "base/random.h"
#include "cli/bench/bench.h"
#include "cli/view/terminal.h"
#include "data/placement/dataset.h"
#include "device/device.h"
#include "engine/engine.h"
#include "model/network/mlp.h"

namespace stoker::cli {

// Standard normal features; the target is linear in them with a little noise, of variance about 1.
Dataset w1_table() {
  Array features(DType::float32, {bench_rows, bench_columns});
  Array targets(DType::float32, {bench_rows, 1});
  const RandomKey key = random_key(42, Purpose::sample, 0);
  const auto x = features.as<float>();
  const auto y = targets.as<float>();
  for (std::int64_t row = 0; row < bench_rows; ++row) {
    double sum = 0;
    for (std::int64_t column = 0; column < bench_columns; ++column) {
      const auto index = static_cast<std::size_t>(row * bench_columns + column);
      x[index] = static_cast<float>(normal(key, static_cast<std::uint32_t>(index)));
      sum += x[index] * (column % 2 == 0 ? 0.3 : -0.25);
    }
    const auto noise_index = static_cast<std::uint32_t>(bench_rows * bench_columns + row);
    y[static_cast<std::size_t>(row)] = static_cast<float>(sum + 0.1 * normal(key, noise_index));
  }
  return {{{"features", Role::features, features}, {"targets", Role::targets, targets}}};
}

std::string w1_name(const BenchOptions& options) {
  if (options.hidden == BenchOptions{}.hidden) return "w1";
  return fmt::format("w1 {}", fmt::join(options.hidden, "-"));
}

EngineRequest w1_request(const Dataset& placed, Device device, std::int64_t batch,
                         const BenchOptions& options, std::uint64_t seed) {
  EngineRequest request;
  request.network = mlp_network({bench_columns, options.hidden, 1, Activation::relu, options.dropout});
  request.loss().kind = Loss::mse;
  request.batch_size = batch;
  request.precision = precision_named(options.precision);
  request.seed = seed;
  request.device = device;
  request.training = placed;
  request.initial_parameters = initial_parameters(request.network, request.seed);
  return request;
}

void bench_w1(const BenchOptions& options, Comparison& comparison,
              const std::function<void(std::int64_t batch, Device device)>& after_batch) {
  std::vector<EngineChoice> choices;
  for (const std::string& name : options.engines) choices.push_back(engine_named(name));
  const Notes notes = [](Severity, const std::string& message) { tell(message); };
  const Device device = choose_device(options.device, notes);
  const TrainingBench bench(w1_name(options), options, device);
  const Placement placed = place(w1_table(), device, notes);
  for (const std::int64_t batch : options.batches) {
    for (const EngineChoice choice : choices)
      bench.measure_steps(w1_request(placed.dataset, device, batch, options, 42), choice, comparison);
    after_batch(batch, device);
  }
}

}  // namespace stoker::cli
