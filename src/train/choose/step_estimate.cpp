#include "train/choose/step_estimate.h"

#include <algorithm>
#include <cmath>

#include "model/family.h"

namespace stoker {
namespace {

// What was measured on an H200 (docs/performance.md): with kernels of our own 1.9 µs for the 1.1 million
// multiply-adds of w1 at batch 32 up to 255 µs for the 8.5 thousand million of w2, by the graph engine 89 µs
// and 1,140 µs. Between them time grows with a power of the work: more of it fills more of the chip.
constexpr double work_of_first = 1.1e6;
constexpr double kernel_seconds = 1.9e-6;
constexpr double kernel_power = 0.53;
constexpr double graph_seconds = 89e-6;
constexpr double graph_power = 0.25;
// Of what the maker says that there is, what such steps get.
constexpr double share_of_products = 0.3;
constexpr double share_of_bandwidth = 0.7;
// A core takes w1's step at batch 32 in 21 to 74 µs (docs/performance.md), which is 15 to 54 thousand million
// multiply-adds a second.
constexpr double products_of_a_core = 10e9;

}  // namespace

StepDemand demand_of_step(std::int64_t batch_rows, std::int64_t multiply_adds, std::int64_t parameters,
                          double row_bytes) {
  constexpr double passes = 3;  // forward, and two products on the way back
  constexpr double touches =
      7 * 4.0;  // bytes of a weight: it, its gradient and two moments, read and written
  const auto batch = static_cast<double>(batch_rows);
  return {passes * batch * static_cast<double>(multiply_adds),
          touches * static_cast<double>(parameters) + batch * row_bytes};
}

StepDemand demand_of_step(const EngineRequest& request) {
  const double rows = static_cast<double>(std::max<std::int64_t>(request.training.rows(), 1));
  return demand_of_step(request.batch_size, multiply_adds(request.network), parameter_count(request.network),
                        static_cast<double>(request.training.bytes()) / rows);
}

double estimated_gpu_step(const StepDemand& demand, const GpuRates& gpu, bool has_kernels) {
  const double amount = std::max(demand.multiply_adds / work_of_first, 1e-2);
  const double on_h200 = has_kernels ? kernel_seconds * std::pow(amount, kernel_power)
                                     : graph_seconds * std::pow(amount, graph_power);
  return std::max({on_h200 * rates_of_h200.clock / gpu.clock,
                   demand.multiply_adds / (share_of_products * gpu.products * 1e12),
                   demand.bytes / (share_of_bandwidth * gpu.bandwidth * 1e9)});
}

double estimated_cpu_step(const StepDemand& demand) {
  return demand.multiply_adds / products_of_a_core;
}

}  // namespace stoker
