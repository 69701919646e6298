#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/time/measure.h"
#include "cli/bench/bench.h"
#include "device/device.h"
#include "model/family.h"
#include "torch/door.h"
#include "train/loop/engines.h"

namespace stoker::cli {
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

BenchLine line_of(const Measured& measured, const Engine& engine, const EngineRequest& request,
                  const std::string& workload) {
  BenchLine line;
  line.workload = workload;
  line.batch = request.batch_size;
  line.engine = std::string(engine.name());
  line.device = request.device.name();
  line.precision = config::name_of(engine.precision());
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

}  // namespace

TrainingBench::TrainingBench(std::string workload, const BenchOptions& options, Device device)
    : workload_(std::move(workload)), options_(options), free_before_(free_bytes_on(device)) {}

std::vector<BenchLine> TrainingBench::measure_steps(const EngineRequest& request, EngineChoice choice,
                                                    Comparison& comparison) const {
  const std::unique_ptr<Engine> engine = choose_engine(engines(), choice, {}, request).make(request);
  std::int64_t next_step = 0;
  const auto train = [&](std::int64_t steps) {
    engine->run({next_step, std::vector<float>(static_cast<std::size_t>(steps), options_.learning_rate)});
    next_step += steps;
  };
  std::vector<BenchLine> lines;
  for (const std::int64_t before : options_.steps_before) {
    while (next_step < before) train(std::min<std::int64_t>(1000, before - next_step));
    BenchLine& line =
        lines.emplace_back(line_of(measure(train, options_.seconds), *engine, request, workload_));
    line.steps_before = before;
    line.peak_bytes = used_bytes(request.device, free_before_);
    comparison.show(line);
  }
  return lines;
}

void fill_in(const BenchOptions& options, const Dataset& placed, Device device, std::int64_t batch,
             EngineRequest& request) {
  request.batch_size = batch;
  request.precision = precision_named(options.precision);
  request.seed = 42;
  request.device = device;
  request.threads = options.threads;
  request.training = placed;
  request.initial_parameters = initial_parameters(request.network, request.seed);
}

Precision precision_named(const std::string& name) {
  const auto& names = config::names<Precision>;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) refuse("'{}' is not a precision; available: {}", name, fmt::join(names, ", "));
  return static_cast<Precision>(found - names.begin());
}

EngineChoice engine_named(const std::string& name) {
  const auto& names = config::names<EngineChoice>;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) refuse("'{}' is not an engine; available: auto, fused, graph and eager", name);
  return static_cast<EngineChoice>(found - names.begin());
}

}  // namespace stoker::cli
