#include <array>
#include <vector>

#include "base/notes.h"
#include "base/random.h"
#include "base/time/measure.h"
#include "cli/bench/bench.h"
#include "device/device.h"
#include "model/linear/linear.h"

namespace stoker::cli {
namespace {

struct LinearTable {
  std::vector<double> x;
  std::vector<double> y;
};

// Ten of the thirteen columns matter, as in the sample boston_housing; noise of standard deviation 10.
LinearTable synthetic_table() {
  LinearTable table;
  table.x.resize(static_cast<std::size_t>(bench_rows * bench_columns));
  table.y.resize(static_cast<std::size_t>(bench_rows));
  const RandomKey key = random_key(42, Purpose::sample, 1);
  for (std::size_t i = 0; i < table.x.size(); ++i) table.x[i] = normal(key, static_cast<std::uint32_t>(i));
  for (std::size_t row = 0; row < table.y.size(); ++row) {
    double sum = 10 * normal(key, static_cast<std::uint32_t>(table.x.size() + row));
    for (std::size_t column = 0; column < 10; ++column) {
      sum += 10.0 * static_cast<double>(column + 1) * table.x[row * bench_columns + column];
    }
    table.y[row] = sum;
  }
  return table;
}

BenchLine measure_fit(LinearKind kind, const LinearTable& table, double window_seconds) {
  LinearConfig config;
  if (kind == LinearKind::lasso) config.alpha = 0.1;
  const MatrixView view{table.x, bench_rows, bench_columns};
  const Measured measured = measure(
      [&](std::int64_t fits) {
        for (std::int64_t i = 0; i < fits; ++i) fit_linear(kind, view, table.y, config, no_notes());
      },
      window_seconds);
  BenchLine line;
  line.workload = std::string(config::name_of(kind));
  line.batch = bench_rows;
  line.engine = "stoker";
  line.device = "cpu";
  line.precision = "fp64";
  line.us_per_step = 1e6 * measured.seconds_per_unit;
  line.spread = measured.spread;
  line.processor_us_per_step = 1e6 * measured.processor_seconds_per_unit;
  line.processor_spread = measured.processor_spread;
  line.samples_per_s = static_cast<double>(bench_rows) / measured.seconds_per_unit;
  line.peak_bytes = peak_memory_bytes();
  line.versions = {{"stoker", STOKER_VERSION}};
  return line;
}

}  // namespace

void bench_linear(const BenchOptions& options, Comparison& comparison) {
  const LinearTable table = synthetic_table();
  for (const LinearKind kind :
       {LinearKind::linear_regression, LinearKind::ridge, LinearKind::lasso, LinearKind::lasso_cv}) {
    comparison.show(measure_fit(kind, table, options.seconds));
  }
}

}  // namespace stoker::cli
