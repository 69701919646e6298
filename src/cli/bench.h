#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench_line.h"

namespace stoker::cli {

struct BenchOptions {
  std::vector<std::int64_t> batches{32};
  std::string device = "auto";
  std::string engine = "auto";
  double dropout = 0.2;
  double seconds = 0.25;  // of a window
  bool peers = false;
  bool json = false;
};

// Rows and columns of the synthetic table that both workloads are measured on.
constexpr std::int64_t bench_rows = 40'000;
constexpr std::int64_t bench_columns = 13;

// w1: 13 → [128, 64, 32] → 1, ReLU, dropout, Adam 1e-3, MSE. One line per batch size.
std::vector<BenchLine> bench_w1(const BenchOptions& options);
// linear_regression, ridge, lasso, lasso_cv on the same table in memory. One line per model.
std::vector<BenchLine> bench_linear(const BenchOptions& options);

}  // namespace stoker::cli
