#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/bench/bench_line.h"
#include "engine/engine.h"

namespace CLI {
class App;
}

namespace stoker::cli {

struct BenchOptions {
  std::vector<std::int64_t> batches{32};
  std::string device = "auto";
  std::vector<std::string> engines{"auto"};
  std::vector<std::int64_t> hidden{128, 64, 32};
  double dropout = 0.2;
  std::string precision = "auto";
  double seconds = 0.25;                      // of a window
  std::vector<std::int64_t> steps_before{0};  // to be trained before a measurement, in rising order
  std::int64_t models = 0;                    // side by side; 0: one model alone
  float learning_rate = 1e-3F;
  int threads = 0;  // that models share on the CPU; 0: one per core
  bool peers = false;
  bool json = false;
};

struct ExpertBenchOptions : BenchOptions {
  // So small that the router keeps sending rows to all alike.
  ExpertBenchOptions() { learning_rate = 1e-6F; }
  std::vector<std::int64_t> experts{8, 32};
  std::int64_t max_experts = 0;  // 0: as many as there are
  double max_grad_norm = 0;
  std::int64_t sleeps = 0;  // steps from one to the next, of which the cost is measured; 0: none
};

// Rows and columns of the synthetic table that w1 and the linear models are measured on.
constexpr std::int64_t bench_rows = 40'000;
constexpr std::int64_t bench_columns = 13;
// Windows of the synthetic series that w2 and w3 are measured on.
constexpr std::int64_t bench_windows = 76'792;
// Rows of the synthetic receptions that w4 is measured on.
constexpr std::int64_t bench_receptions = 3'224;
// Rows of the synthetic pictures that w5 is measured on.
constexpr std::int64_t bench_pictures = 60'000;

// Measures the training steps of one workload. Made before its data is placed: what memory is used is counted
// from there on.
class TrainingBench {
 public:
  TrainingBench(std::string workload, const BenchOptions& options, Device device);

  // One line, shown as soon as it is measured, for each number of steps to be trained before.
  std::vector<BenchLine> measure_steps(const EngineRequest& request, EngineChoice choice,
                                       Comparison& comparison) const;

 private:
  std::string workload_;
  const BenchOptions& options_;
  std::uint64_t free_before_;
};

// w1: 13 → [128, 64, 32] → 1, ReLU, dropout, Adam 1e-3, MSE. One line per batch size, engine and number of
// steps before; `after_batch` follows the lines of each batch size.
void bench_w1(const BenchOptions& options, Comparison& comparison,
              const std::function<void(std::int64_t batch, Device device)>& after_batch);
// Its parts, for many such models.
Dataset w1_table();
EngineRequest w1_request(const Dataset& placed, Device device, std::int64_t batch,
                         const BenchOptions& options, std::uint64_t seed);
// w1, and its hidden layers where they are other ones.
std::string w1_name(const BenchOptions& options);
// What a workload's request has of the options, its rows and its device; the network's weights begin.
void fill_in(const BenchOptions& options, const Dataset& placed, Device device, std::int64_t batch,
             EngineRequest& request);
EngineChoice engine_named(const std::string& name);
Precision precision_named(const std::string& name);

// w1 alone, then `models` of them side by side, by batch size. On the CPU they share its threads, on a GPU
// they train in groups where the engine can.
struct ManyLine {
  BenchLine line;  // us_per_step: of the clock per model-step
  int threads = 1;
  double processor_us_per_step = 0;  // of the CPU per model-step, all threads together; 0 in a GPU's group
  double times_single = 1;           // time per model-step × threads, in units of a single model's
};
std::vector<ManyLine> bench_w1_many(const BenchOptions& options);

// w5: 784 → 10 classes by experts of 784-256-256-10, two for each row, AdamW. The router begins without a
// preference, so that all are equally busy, and hardly learns. One line per number of experts, batch size and
// engine. Where sleeps are measured, pictures have no negative numbers, as real ones: then experts are alike
// by their rows, and a sleep compares the weights of every pair of them.
void bench_w5(const ExpertBenchOptions& options, Comparison& comparison,
              const std::function<void(std::int64_t experts, std::int64_t batch, Device device)>& after);

// A family as it is by default, over windows of 20 × 29 and 3 classes, with AdamW 1e-3 and gradients
// shortened to 0.5. One line per batch size and engine, and on a CPU the share that it reaches of the
// machine's rate of multiply-adds; `after_batch` follows the lines of each batch size.
void bench_sequences(const std::string& workload, const std::string& family, const BenchOptions& options,
                     Comparison& comparison,
                     const std::function<void(std::int64_t batch, Device device)>& after_batch);

// triangulation as it is by default, over 3,224 receptions by up to 10 receivers with 6 columns, 2 targets,
// with Adam 1e-3 and the gaussian loss. One line per batch size and engine, then `after_batch`.
void bench_w4(const BenchOptions& options, Comparison& comparison,
              const std::function<void(std::int64_t batch, Device device)>& after_batch);

// w6: extremes, means and covariances of 50 channels in one pass over cubes of 128 × 128 pixels, and on a CPU
// the share that it reaches of the machine's rate of multiply-adds; there also forward and backward through a
// batch of 16 cubes, over min-max, PCA to 20 and to 10, RX and cross-entropy.
struct SpectralBenchOptions : BenchOptions {
  std::int64_t cubes = 160;
};
void bench_w6(const SpectralBenchOptions& options, Comparison& comparison);

// linear_regression, ridge, lasso, lasso_cv on the same table in memory. One line per model.
void bench_linear(const BenchOptions& options, Comparison& comparison);

// From a file or a database to a tensor on the device, by format. Each window is measured in a process of its
// own, and those of the peers between them.
struct LoadOptions {
  std::int64_t rows = 500'000;
  std::int64_t columns = 14;
  std::vector<std::string> formats{"csv", "parquet", "arrow"};
  std::string device = "cpu";
  std::string uri = "${DATABASE_URL}";  // of postgres
  double seconds = 0.25;                // of a window
  bool peers = false;
  bool json = false;
};
void bench_load(const LoadOptions& options);

// A whole document on each device, in processes of their own, split into start, load, statistics, training
// and evaluation. One line per device, with the ratio to the first.
struct DocumentBenchOptions {
  std::string document;
  std::vector<std::string> assignments;
  std::vector<std::string> devices;
  int runs = 3;
  int busy_loops = 0;  // above 0: CPU time next to so many busy processes, compared with that without them
  bool json = false;
};
void add_document_bench(CLI::App& app, DocumentBenchOptions& options);
// `workloads` are the names that are no documents.
ExitCode bench_document(const DocumentBenchOptions& options, const std::vector<std::string>& workloads);

// From the file in which the cache keeps rows of real numbers to the array that is trained on.
struct CacheBenchOptions {
  std::int64_t rows = 1'000'000;
  std::int64_t columns = 14;
  double seconds = 0.5;  // of a window
  bool json = false;
};
ExitCode bench_cache(const CacheBenchOptions& options);

}  // namespace stoker::cli
