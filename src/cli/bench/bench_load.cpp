#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/text/text.h"
#include "base/time/elapsed.h"
#include "base/time/measure.h"
#include "cli/bench/bench.h"
#include "cli/bench/bench_sources.h"
#include "cli/process/own_process.h"
#include "cli/view/terminal.h"
#include "data/prepare/preparation.h"
#include "data/source/source.h"
#include "device/device.h"

namespace stoker::cli {
namespace {

constexpr int rounds = 7;
constexpr std::int64_t batch_of_queries = 256;
constexpr const char* query_per_batch = "a query per batch";  // how the name of that peer begins

// Learnt once, so that what is measured begins with the source and ends with the tensor.
std::string learnt_preparation(const BenchSource& source) {
  PreparationConfig wanted;
  wanted.target_column = source.target;
  wanted.task = TaskChoice::regression;
  wanted.scale_target = false;
  return Preparation::fit(Source::open(source.config, ".").read(), wanted, Scaling::none, no_notes())
      .to_json()
      .dump();
}

void load_once(const BenchSource& source, const Preparation& preparation, Device device) {
  // The rows go where they are laid from: nobody holds those that have been laid already.
  const Dataset dataset = preparation.apply(Source::open(source.config, ".").read(), DType::float32, true);
  place(dataset, device, no_notes());
}

// One window of a process that has just begun, which has loaded the rows once before.
BenchLine measured_round(const std::string& format, const BenchSource& source, const std::string& learnt,
                         const LoadOptions& options) {
  const Device device = choose_device(options.device, no_notes());
  const Preparation preparation = Preparation::from_json(nlohmann::json::parse(learnt));
  std::ofstream("/proc/self/clear_refs") << "5";  // what was the peak before counts no more
  const std::uint64_t before = peak_memory_bytes();
  load_once(source, preparation, device);
  const std::uint64_t peak = peak_memory_bytes() - before;
  const Moment start = now();
  const double processor_start = processor_seconds();
  int loads = 0;
  do {
    load_once(source, preparation, device);
    ++loads;
  } while (seconds_since(start) < options.seconds);
  BenchLine line;
  line.workload = "load " + format;
  line.batch = options.rows;
  line.engine = "stoker";
  line.device = device.name();
  line.precision = "fp32";
  line.us_per_step = 1e6 * seconds_since(start) / loads;
  line.processor_us_per_step = 1e6 * (processor_seconds() - processor_start) / loads;
  line.samples_per_s = 1e6 * static_cast<double>(options.rows) / line.us_per_step;
  line.peak_bytes = peak;
  line.versions = {{"stoker", STOKER_VERSION}};
  return line;
}

BenchLine read_line(const std::string& text) {
  BenchLine line;
  if (!read_bench_line(text, line)) fail("a process of the measurement gave no result");
  return line;
}

// The lines of all rounds, one behind the other, as one line each engine: the medians.
std::vector<BenchLine> joined_rounds(const std::vector<BenchLine>& lines) {
  std::vector<BenchLine> joined;
  for (const BenchLine& line : lines) {
    if (std::ranges::find(joined, line.engine, &BenchLine::engine) != joined.end()) continue;
    std::vector<double> times;
    std::vector<double> processor_times;
    BenchLine& all = joined.emplace_back(line);
    for (const BenchLine& other : lines) {
      if (other.engine != line.engine) continue;
      times.push_back(other.us_per_step);
      processor_times.push_back(other.processor_us_per_step);
      all.peak_bytes = std::max(all.peak_bytes, other.peak_bytes);
    }
    const MedianAndSpread clock = median_and_spread(std::move(times));
    const MedianAndSpread processor = median_and_spread(std::move(processor_times));
    all.us_per_step = clock.median;
    all.spread = clock.spread;
    all.processor_us_per_step = processor.median;
    all.processor_spread = processor.median > 0 ? processor.spread : 0;
    all.samples_per_s = 1e6 * static_cast<double>(all.batch) / all.us_per_step;
  }
  return joined;
}

void show_rates(const BenchLine& line, const LoadOptions& options) {
  const auto tensor = static_cast<double>(options.rows * options.columns) * sizeof(float);
  std::string text = fmt::format("  {:.2f} million rows and {:.2f} GB of tensor a second",
                                 line.samples_per_s / 1e6, tensor / line.us_per_step / 1e3);
  if (line.peak_bytes > 0)
    text += fmt::format("; memory at its peak {:.2f} × the tensor",
                        static_cast<double>(line.peak_bytes) / tensor);
  print(text + "\n");
}

// What becomes of a training whose every batch is a query: a step of w1 beside it.
void show_share_of_step(const BenchLine& queries, const LoadOptions& options) {
  const double query =
      queries.us_per_step * static_cast<double>(batch_of_queries) / static_cast<double>(options.rows);
  const BenchLine step = read_line(in_own_process([&] {
    BenchOptions wanted;
    wanted.batches = {batch_of_queries};
    wanted.device = options.device;
    const Device device = choose_device(options.device, no_notes());
    const Placement placed = place(w1_table(), device, no_notes());
    Comparison silent = Comparison::silent();
    return to_json(TrainingBench("w1", wanted, device)
                       .measure_steps(w1_request(placed.dataset, device, batch_of_queries, wanted, 42),
                                      EngineChoice::automatic, silent)
                       .front())
        .dump();
  }));
  print(fmt::format(
      "  a query takes {:.0f} µs and a step of w1 on its {} rows {:.0f} µs: a training that asks for "
      "each batch would spend {:.1f} % of its time waiting for the database\n",
      query, batch_of_queries, step.us_per_step, 100 * query / (query + step.us_per_step)));
}

std::vector<BenchLine> measured_rounds(const std::string& format, const BenchSource& source,
                                       const LoadOptions& options) {
  const std::string learnt = in_own_process([&] { return learnt_preparation(source); });
  std::vector<BenchLine> lines;
  for (int round = 0; round < rounds; ++round) {
    const BenchLine own = read_line(
        in_own_process([&] { return to_json(measured_round(format, source, learnt, options)).dump(); }));
    lines.push_back(own);
    if (!options.peers) continue;
    std::vector<std::string> arguments = source.peer_arguments;
    for (const std::string& more :
         {std::string("--device"), own.device.substr(0, 4) == "cuda" ? std::string("cuda") : "cpu",
          std::string("--seconds"), fmt::format("{}", options.seconds)})
      arguments.push_back(more);
    for (BenchLine& line : lines_of_peers(source.peers, arguments, round == 0))
      lines.push_back(std::move(line));
  }
  return joined_rounds(lines);
}

void bench_format(const std::string& format, const LoadOptions& options, Comparison& comparison) {
  const TemporaryFolder folder;
  const BenchSource source = bench_source(format, options.columns, folder.path(), options.uri);
  in_own_process([&] {
    fill(source, options.rows, options.columns);
    return std::string();
  });
  std::vector<BenchLine> lines;
  try {
    lines = measured_rounds(format, source, options);
  } catch (...) {
    clear(source);
    throw;
  }
  clear(source);
  for (const BenchLine& line : lines) {
    comparison.show(line);
    if (!options.json) show_rates(line, options);
    if (!options.json && line.engine.starts_with(query_per_batch)) show_share_of_step(line, options);
  }
}

}  // namespace

void bench_load(const LoadOptions& options) {
  Comparison comparison(options.json);
  for (const std::string& format : options.formats) bench_format(format, options, comparison);
}

}  // namespace stoker::cli
