#include "cli/bench/bench.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench/bench_sources.h"
#include "cli/commands/command.h"
#include "cli/flags/number_range.h"
#include "cli/view/terminal.h"

namespace stoker::cli {
namespace {

void add_shared_flags(CLI::App& app, BenchOptions& options) {
  app.add_option("--seconds", options.seconds, "Length of each of the 7 windows whose median is reported")
      ->check(in_range(0.2, 600.0))
      ->capture_default_str();
  app.add_flag("--peers", options.peers, "Also measure the scripts of bench/peers and report the ratios");
  app.add_flag("--json", options.json, "Print one JSON object per measurement, each on its own line");
}

void add_training_flags(CLI::App& app, BenchOptions& options, std::int64_t rows) {
  app.add_option("--batch", options.batches, "Rows per step; may be repeated")
      ->allow_extra_args(false)
      ->check(in_range(std::int64_t{1}, rows))
      ->capture_default_str();
  app.add_option("--device", options.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  app.add_option("--engine", options.engines, "auto, fused, graph or eager; may be repeated")
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--precision", options.precision, "Of the operands of products; fp32: they are not rounded")
      ->check(CLI::IsMember(
          std::vector<std::string>(config::names<Precision>.begin(), config::names<Precision>.end())))
      ->capture_default_str();
  app.add_option("--steps-before", options.steps_before,
                 "Train this many steps before measuring; if repeated, in rising order, measure after each")
      ->allow_extra_args(false)
      ->check(in_range(std::int64_t{0}, std::int64_t{100'000'000}))
      ->capture_default_str();
}

void add_w1_flags(CLI::App& app, BenchOptions& options) {
  add_training_flags(app, options, bench_rows);
  app.add_option("--hidden", options.hidden, "Widths of the hidden layers, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(in_range(std::int64_t{1}, std::int64_t{65'536}))
      ->capture_default_str();
  app.add_option("--dropout", options.dropout, "Share of hidden outputs left out")
      ->check(in_range(0.0, 0.99))
      ->capture_default_str();
  app.add_option("--models", options.models, "Measure this many models side by side, and one alone")
      ->check(in_range(std::int64_t{1}, std::int64_t{100'000}));
  app.add_option("--threads", options.threads, "With --models on the CPU: threads; 0: one per core")
      ->check(in_range(0, 4096));
}

void add_sequence_flags(CLI::App& app, BenchOptions& options, std::int64_t rows) {
  options.batches = {256};
  add_training_flags(app, options, rows);
  app.add_option("--threads", options.threads, "Of the CPU, that the training may use; 0: as many as pay")
      ->check(in_range(0, 4096));
}

void add_cache_flags(CLI::App& app, CacheBenchOptions& options) {
  app.add_option("--rows", options.rows, "Rows to keep")
      ->check(in_range(std::int64_t{1'000}, std::int64_t{100'000'000}))
      ->capture_default_str();
  app.add_option("--columns", options.columns, "Columns of real numbers of 4 bytes")
      ->check(in_range(std::int64_t{2}, std::int64_t{256}))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Length of each of the 7 windows whose median is reported")
      ->check(in_range(0.2, 600.0))
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print one JSON object");
}

void refuse_falling_steps(const BenchOptions& options) {
  if (!std::is_sorted(options.steps_before.begin(), options.steps_before.end()))
    refuse(
        "--steps-before: one training continues from each number to the next, so give them in rising order");
}

// The scripts take one batch size at a time.
void run_w1_peers(const BenchOptions& options, std::int64_t batch, Device device, Comparison& comparison) {
  run_peers("w1_",
            {"--batch", fmt::format("{}", batch), "--device", device.is_cuda() ? "cuda" : "cpu", "--dropout",
             fmt::format("{}", options.dropout), "--seconds", fmt::format("{}", options.seconds)},
            comparison);
}

ExitCode show_many(const BenchOptions& options, const std::vector<ManyLine>& lines) {
  std::vector<std::vector<std::string>> rows{{"models", "model-steps/s", "µs/model-step", "CPU µs", "threads",
                                              "× threads, of one alone", "spread", "batch", "engine",
                                              "device"}};
  for (const ManyLine& many : lines) {
    const BenchLine& line = many.line;
    if (options.json) {
      nlohmann::json json = to_json(line);
      json["threads"] = many.threads;
      json["processor_us_per_step"] = many.processor_us_per_step;
      json["model_steps_per_s"] = 1e6 / line.us_per_step;
      json["times_single"] = many.times_single;
      print_data(json.dump() + "\n");
      continue;
    }
    rows.push_back({fmt::format("{}", line.models), fmt::format("{:.0f}", 1e6 / line.us_per_step),
                    fmt::format("{:.3f}", line.us_per_step),
                    fmt::format("{:.3f}", many.processor_us_per_step), fmt::format("{}", many.threads),
                    fmt::format("{:.3f}", many.times_single), fmt::format("{:.0f} %", 100 * line.spread),
                    fmt::format("{}", line.batch), line.engine, line.device});
  }
  if (!options.json) print(aligned(rows));
  return ExitCode::done;
}

ExitCode run_w1(const BenchOptions& options) {
  if (options.models > 0 && options.peers)
    refuse("--models compares many models with one of Stoker's own; leave out --peers");
  if (options.models > 0 && options.engines.size() > 1)
    refuse("--models measures one engine; {} were given", options.engines.size());
  refuse_falling_steps(options);
  if (options.peers && w1_name(options) != "w1")
    refuse("the peers train only the hidden layers 128,64,32; leave out --hidden or --peers");
  if (options.models > 0) return show_many(options, bench_w1_many(options));
  Comparison comparison(options.json);
  bench_w1(options, comparison, [&](std::int64_t batch, Device device) {
    if (options.peers) run_w1_peers(options, batch, device, comparison);
  });
  return ExitCode::done;
}

// Measures a workload and, behind each of its batch sizes, its peers.
template <class Bench>
ExitCode run_beside_peers(const std::string& workload, const BenchOptions& options, const Bench& bench) {
  refuse_falling_steps(options);
  Comparison comparison(options.json);
  bench(comparison, [&](std::int64_t batch, Device device) {
    if (!options.peers) return;
    run_peers(workload + "_",
              {"--batch", fmt::format("{}", batch), "--device", device.is_cuda() ? "cuda" : "cpu",
               "--precision", options.precision, "--threads", fmt::format("{}", options.threads), "--seconds",
               fmt::format("{}", options.seconds)},
              comparison);
  });
  return ExitCode::done;
}

ExitCode run_sequences(const std::string& workload, const std::string& family, const BenchOptions& options) {
  return run_beside_peers(workload, options, [&](Comparison& comparison, const auto& after_batch) {
    bench_sequences(workload, family, options, comparison, after_batch);
  });
}

ExitCode run_w4(const BenchOptions& options) {
  return run_beside_peers("w4", options, [&](Comparison& comparison, const auto& after_batch) {
    bench_w4(options, comparison, after_batch);
  });
}

ExitCode run_w5(const ExpertBenchOptions& options) {
  refuse_falling_steps(options);
  for (const std::int64_t experts : options.experts)
    if (options.max_experts > 0 && options.max_experts < experts)
      refuse("--max-experts {} is less than the {} experts that there are to be", options.max_experts,
             experts);
  if (options.sleeps > 0 && options.peers)
    refuse("--sleeps has no peers to be measured beside: leave out --peers");
  Comparison comparison(options.json);
  bench_w5(options, comparison, [&](std::int64_t experts, std::int64_t batch, Device device) {
    if (!options.peers) return;
    run_peers("w5_",
              {"--experts", fmt::format("{}", experts), "--batch", fmt::format("{}", batch), "--device",
               device.is_cuda() ? "cuda" : "cpu", "--precision", options.precision, "--threads",
               fmt::format("{}", options.threads), "--clip", fmt::format("{}", options.max_grad_norm),
               "--seconds", fmt::format("{}", options.seconds)},
              comparison);
  });
  return ExitCode::done;
}

void add_expert_flags(CLI::App& app, ExpertBenchOptions& options) {
  add_sequence_flags(app, options, bench_pictures);
  options.batches = {128};
  app.add_option("--experts", options.experts, "Number of experts; may be repeated")
      ->allow_extra_args(false)
      ->check(in_range(std::int64_t{2}, std::int64_t{1024}))
      ->capture_default_str();
  app.add_option("--max-experts", options.max_experts, "Room for so many; 0: for those that there are")
      ->check(in_range(std::int64_t{0}, std::int64_t{1024}))
      ->capture_default_str();
  app.add_option("--max-grad-norm", options.max_grad_norm, "Gradients are shortened to it; 0: not at all")
      ->check(in_range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--sleeps", options.sleeps,
                 "Measures what a sleep of the experts after every so many steps takes; 0: none")
      ->check(in_range(std::int64_t{0}, std::int64_t{1'000'000}))
      ->capture_default_str();
}

ExitCode run_w6(const SpectralBenchOptions& options) {
  Comparison comparison(options.json);
  bench_w6(options, comparison);
  if (options.peers)
    run_peers("w6_",
              {"--cubes", fmt::format("{}", options.cubes), "--device",
               choose_device(options.device, no_notes()).is_cuda() ? "cuda" : "cpu", "--seconds",
               fmt::format("{}", options.seconds)},
              comparison);
  return ExitCode::done;
}

void add_spectral_flags(CLI::App& app, SpectralBenchOptions& options) {
  app.add_option("--cubes", options.cubes, "Cubes of 128 × 128 pixels with 50 channels")
      ->check(in_range(std::int64_t{1}, std::int64_t{100'000}))
      ->capture_default_str();
  app.add_option("--device", options.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
}

ExitCode run_linear(const BenchOptions& options) {
  Comparison comparison(options.json);
  bench_linear(options, comparison);
  if (options.peers) run_peers("linear_", {"--seconds", fmt::format("{}", options.seconds)}, comparison);
  return ExitCode::done;
}

// A subcommand with options of its own.
CLI::App* add_load(CLI::App& app, LoadOptions& options) {
  CLI::App* load =
      app.add_subcommand("load", "Rows of a file or a database to a tensor of 32-bit floats on the device");
  load->add_option("--rows", options.rows, "Rows to load")
      ->check(in_range(std::int64_t{1}, std::int64_t{100'000'000}))
      ->capture_default_str();
  load->add_option("--columns", options.columns, "Columns of numbers")
      ->check(in_range(std::int64_t{2}, std::int64_t{10'000}))
      ->capture_default_str();
  load->add_option("--format", options.formats,
                   "csv, parquet, arrow, hdf5, sqlite or postgres; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(load_formats()))
      ->capture_default_str();
  load->add_option(
          "--uri", options.uri,
          "Of postgres: address of a database in which a table may be made for the measurement, best as "
          "${NAME} of an environment variable")
      ->capture_default_str();
  load->add_option("--device", options.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  load->add_option("--seconds", options.seconds, "Length of each of the 7 windows whose median is reported")
      ->check(in_range(0.2, 600.0))
      ->capture_default_str();
  load->add_flag("--peers", options.peers,
                 "Also measure pandas, pyarrow, h5py and ConnectorX, each where it can read the format, and "
                 "report the ratios");
  load->add_flag("--json", options.json, "Print one JSON object per measurement, each on its own line");
  return load;
}

}  // namespace

Action declare_bench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  const auto of_sequences = std::make_shared<BenchOptions>();
  const auto of_sets = std::make_shared<BenchOptions>();
  CLI::App* w1 = app.add_subcommand(
      "w1", "Training steps of a tabular network: 40,000 × 13 → [128, 64, 32] → 1, ReLU, Adam, MSE");
  CLI::App* linear =
      app.add_subcommand("linear", "Fits of linear_regression, ridge, lasso and lasso_cv on 40,000 × 13");
  CLI::App* w2 = app.add_subcommand(
      "w2", "Training steps of an LSTM: 76,792 windows of 20 × 29, 3 classes, two layers of 2 × 128, AdamW");
  CLI::App* w3 = app.add_subcommand(
      "w3", "Training steps of a transformer on the same windows: three layers of 128, 8 heads, AdamW");
  CLI::App* w4 = app.add_subcommand(
      "w4",
      "Training steps of a triangulation: 3,224 sets of up to 10 receivers × 6 → 2 and a variance, Adam");
  const auto of_experts = std::make_shared<ExpertBenchOptions>();
  CLI::App* w5 = app.add_subcommand("w5",
                                    "Training steps of a mixture of experts: 60,000 × 784, 10 classes, "
                                    "experts of [256, 256], two a row, AdamW");
  add_expert_flags(*w5, *of_experts);
  add_shared_flags(*w5, *of_experts);
  const auto of_cubes = std::make_shared<SpectralBenchOptions>();
  CLI::App* w6 = app.add_subcommand(
      "w6",
      "Statistics of spectral cubes: extremes, means and covariances of 160 × 128 × 128 × 50 in one pass");
  add_spectral_flags(*w6, *of_cubes);
  add_shared_flags(*w6, *of_cubes);
  for (CLI::App* each : {w2, w3}) {
    add_sequence_flags(*each, *of_sequences, bench_windows);
    add_shared_flags(*each, *of_sequences);
  }
  add_sequence_flags(*w4, *of_sets, bench_receptions);
  add_shared_flags(*w4, *of_sets);
  add_w1_flags(*w1, *options);
  add_shared_flags(*w1, *options);
  add_shared_flags(*linear, *options);
  const auto of_loads = std::make_shared<LoadOptions>();
  CLI::App* load = add_load(app, *of_loads);
  const auto of_cache = std::make_shared<CacheBenchOptions>();
  CLI::App* cache = app.add_subcommand(
      "cache", "From rows that the cache keeps, mapped into memory, to the array that is trained on");
  add_cache_flags(*cache, *of_cache);
  const auto of_document = std::make_shared<DocumentBenchOptions>();
  add_document_bench(app, *of_document);
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n"
      "  stoker bench examples/boston_housing.yaml --device cpu --device cuda\n"
      "  stoker bench w1 --batch 32 --batch 512 --device cpu\n"
      "  stoker bench w1 --device cuda --engine graph --peers\n"
      "  stoker bench w1 --device cpu --models 32\n"
      "  stoker bench w1 --device cuda --hidden 1024,1024,1024 --engine fused --engine graph\n"
      "  stoker bench w2 --batch 16 --batch 256 --device cpu --peers\n"
      "  stoker bench w4 --device cuda --engine fused --engine graph --peers\n"
      "  stoker bench w5 --experts 8 --device cpu --engine fused --peers\n"
      "  stoker bench w6 --device cpu --peers\n"
      "  stoker bench linear --peers\n"
      "  stoker bench load --rows 2000000 --columns 20 --format csv --peers\n"
      "  stoker bench load --format postgres --rows 1000000 --uri '${DATABASE_URL}' --peers\n"
      "  stoker bench cache --rows 1000000 --columns 14");
  const CLI::App* app_of_bench = &app;
  return [=] {
    if (load->parsed()) {
      bench_load(*of_loads);
      return ExitCode::done;
    }
    if (w1->parsed()) return run_w1(*options);
    if (w2->parsed()) return run_sequences("w2", "lstm", *of_sequences);
    if (cache->parsed()) return bench_cache(*of_cache);
    if (w3->parsed()) return run_sequences("w3", "transformer", *of_sequences);
    if (w4->parsed()) return run_w4(*of_sets);
    if (w5->parsed()) return run_w5(*of_experts);
    if (w6->parsed()) return run_w6(*of_cubes);
    if (linear->parsed()) return run_linear(*options);
    std::vector<std::string> workloads;
    for (const CLI::App* each : app_of_bench->get_subcommands(nullptr)) workloads.push_back(each->get_name());
    return bench_document(*of_document, workloads);
  };
}

}  // namespace stoker::cli
