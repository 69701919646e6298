#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/random.h"
#include "cli/bench.h"
#include "cli/measure.h"
#include "cli/terminal.h"
#include "data/dataset.h"
#include "device/device.h"
#include "engine/engine.h"
#include "model/mlp.h"
#include "torch/door.h"
#include "train/engines.h"

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
  request.precision = options.precision == "fp32" ? Precision::fp32 : Precision::automatic;
  request.seed = seed;
  request.device = device;
  request.training = placed;
  request.initial_parameters = initial_parameters(request.network, request.seed);
  return request;
}

namespace {

std::uint64_t free_bytes_on(Device device) {
  for (const DeviceInfo& info : list_devices().devices) {
    if (info.device == device) return info.free_bytes;
  }
  return 0;
}

// Engines take their memory when they are made and in the first steps, so what is used at the end is the
// peak.
std::uint64_t used_bytes(Device device, std::uint64_t free_before) {
  if (!device.is_cuda()) return peak_memory_bytes();
  const std::uint64_t free_now = free_bytes_on(device);
  return free_before > free_now ? free_before - free_now : 0;
}

BenchLine line_of(const Measured& measured, std::string_view engine, const EngineRequest& request,
                  const BenchOptions& options) {
  BenchLine line;
  line.workload = w1_name(options);
  line.batch = request.batch_size;
  line.engine = std::string(engine);
  line.device = request.device.name();
  line.precision = precision_of(line.engine, request);
  line.us_per_step = 1e6 * measured.seconds_per_unit;
  line.spread = measured.spread;
  line.processor_us_per_step = 1e6 * measured.processor_seconds_per_unit;
  line.processor_spread = measured.processor_spread;
  line.samples_per_s = static_cast<double>(request.batch_size) / measured.seconds_per_unit;
  line.versions = {{"stoker", STOKER_VERSION}};
  if (const std::string torch = torch_door::loaded_version(); !torch.empty())
    line.versions.emplace_back("torch", torch);
  return line;
}

// One line for each number of steps to be trained before.
void measure_w1(const EngineRequest& request, EngineChoice choice, const BenchOptions& options,
                std::uint64_t free_before, Comparison& comparison) {
  const std::unique_ptr<Engine> engine = choose_engine(engines(), choice, {}, request).make(request);
  std::int64_t next_step = 0;
  const auto train = [&](std::int64_t steps) {
    engine->run({next_step, std::vector<float>(static_cast<std::size_t>(steps), 1e-3F)});
    next_step += steps;
  };
  for (const std::int64_t before : options.steps_before) {
    while (next_step < before) train(std::min<std::int64_t>(1000, before - next_step));
    BenchLine line = line_of(measure(train, options.seconds), engine->name(), request, options);
    line.steps_before = before;
    line.peak_bytes = used_bytes(request.device, free_before);
    comparison.show(line);
  }
}

}  // namespace

std::string precision_of(const std::string& engine, const EngineRequest& request) {
  const bool rounds =
      engine == "fused" && request.device.is_cuda() && request.precision == Precision::automatic;
  return rounds ? "fp16" : "fp32";
}

EngineChoice engine_named(const std::string& name) {
  const auto& names = config::names<EngineChoice>;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) refuse("'{}' is not an engine; available: auto, fused, graph and eager", name);
  return static_cast<EngineChoice>(found - names.begin());
}

void bench_w1(const BenchOptions& options, Comparison& comparison,
              const std::function<void(std::int64_t batch, Device device)>& after_batch) {
  std::vector<EngineChoice> choices;
  for (const std::string& name : options.engines) choices.push_back(engine_named(name));
  const Notes notes = [](Severity, const std::string& message) { tell(message); };
  const Device device = choose_device(options.device, notes);
  const std::uint64_t free_before = free_bytes_on(device);
  const Placement placed = place(w1_table(), device, notes);
  for (const std::int64_t batch : options.batches) {
    for (const EngineChoice choice : choices)
      measure_w1(w1_request(placed.dataset, device, batch, options, 42), choice, options, free_before,
                 comparison);
    after_batch(batch, device);
  }
}

}  // namespace stoker::cli
