#include <algorithm>
#include <ctime>
#include <memory>
#include <vector>

#include "base/time/measure.h"
#include "cli/bench/bench.h"
#include "cli/view/terminal.h"
#include "device/device.h"
#include "device/workers.h"
#include "torch/door.h"
#include "train/group/many.h"
#include "train/loop/engines.h"

namespace stoker::cli {
namespace {

constexpr float learning_rate = 1e-3F;

Chunk chunk_of(std::int64_t first_step, std::int64_t steps) {
  return {first_step, std::vector<float>(static_cast<std::size_t>(steps), learning_rate)};
}

// Of all threads together: on a machine that others use as well, it tells what the clock cannot.
class ProcessorTime {
 public:
  template <class Work>
  void add(std::int64_t steps, Work work) {
    const std::clock_t start = std::clock();
    work();
    seconds_ += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    steps_ += steps;
  }
  double seconds_per_step() const {
    return seconds_ / static_cast<double>(std::max<std::int64_t>(1, steps_));
  }

 private:
  double seconds_ = 0;
  std::int64_t steps_ = 0;
};

struct MeasuredMany {
  Measured time;
  Precision precision;  // that they computed with
};

// Models on engines of their own, each a thread's while it runs its steps.
MeasuredMany measure_on_threads(const std::vector<EngineRequest>& requests, const EngineMaker& maker,
                                int threads, double seconds, ProcessorTime& processor) {
  std::vector<std::unique_ptr<Engine>> engines;
  for (const EngineRequest& request : requests) engines.push_back(maker.make(request));
  std::int64_t next_step = 0;
  const Measured time = measure(
      [&](std::int64_t steps) {
        const Chunk chunk = chunk_of(next_step, steps);
        processor.add(steps, [&] {
          share_among_threads(static_cast<std::int64_t>(engines.size()), threads,
                              [&](std::int64_t i) { engines[static_cast<std::size_t>(i)]->run(chunk); });
        });
        next_step += steps;
      },
      seconds);
  return {time, engines.front()->precision()};
}

MeasuredMany measure_group(const std::vector<EngineRequest>& requests, const EngineMaker& maker,
                           double seconds) {
  const std::unique_ptr<EngineGroup> group = maker.make_group(requests);
  std::int64_t next_step = 0;
  std::vector<Chunk> chunks(requests.size());
  const Measured time = measure(
      [&](std::int64_t steps) {
        for (Chunk& chunk : chunks) {
          chunk.first_step = next_step;
          chunk.learning_rates.resize(static_cast<std::size_t>(steps), learning_rate);
        }
        group->run(chunks);
        next_step += steps;
      },
      seconds);
  return {time, group->precision()};
}

ManyLine measure_many(const Dataset& placed, Device device, std::int64_t batch, std::int64_t models,
                      const BenchOptions& options) {
  std::vector<EngineRequest> requests;
  for (std::int64_t i = 0; i < models; ++i)
    requests.push_back(w1_request(placed, device, batch, options, 42 + static_cast<std::uint64_t>(i)));
  for (EngineRequest& request : requests) request.threads = 1;
  const EngineMaker& maker =
      choose_engine(engines(), engine_named(options.engines.front()), std::nullopt, requests.front());
  ManyLine many;
  const bool in_group = device.is_cuda() && maker.make_group != nullptr && models > 1;
  if (!device.is_cuda() && models > 1) many.threads = options.threads > 0 ? options.threads : cpu_cores();
  ProcessorTime processor;
  const MeasuredMany measured =
      in_group ? measure_group(requests, maker, options.seconds)
               : measure_on_threads(requests, maker, many.threads, options.seconds, processor);
  BenchLine& line = many.line;
  line.workload = w1_name(options);
  line.batch = batch;
  line.engine = std::string(maker.name);
  line.device = device.name();
  line.precision = config::name_of(measured.precision);
  line.us_per_step = 1e6 * measured.time.seconds_per_unit / static_cast<double>(models);
  many.processor_us_per_step = 1e6 * processor.seconds_per_step() / static_cast<double>(models);
  line.spread = measured.time.spread;
  line.samples_per_s = 1e6 * static_cast<double>(batch) / line.us_per_step;
  line.models = models;
  line.peak_bytes = device.is_cuda() ? 0 : peak_memory_bytes();
  line.versions = {{"stoker", STOKER_VERSION}};
  return many;
}

}  // namespace

std::vector<ManyLine> bench_w1_many(const BenchOptions& options) {
  const Notes notes = [](Severity, const std::string& message) { tell(message); };
  const Device device = choose_device(options.device, notes);
  const Placement placed = place(w1_table(), device, notes);
  torch_door::limit_cpu_threads(1);
  std::vector<ManyLine> lines;
  for (const std::int64_t batch : options.batches) {
    const ManyLine single = measure_many(placed.dataset, device, batch, 1, options);
    ManyLine many = measure_many(placed.dataset, device, batch, options.models, options);
    many.times_single = many.line.us_per_step * many.threads / single.line.us_per_step;
    lines.push_back(single);
    lines.push_back(many);
  }
  return lines;
}

}  // namespace stoker::cli
