#include "advise/known_gpus.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stoker::advise {
namespace {

// Tensor cores with dense operands of 16 bits and sums of 32, from the makers' data sheets; the GTX 1650 has
// none, so its ordinary units count.
constexpr std::array gpus{
    KnownGpu{"GTX 1650", 1.5, 128, 1.67, 4, 75},    KnownGpu{"RTX 3050", 9.1, 224, 1.78, 8, 86},
    KnownGpu{"RTX 3060", 12.7, 360, 1.78, 12, 86},  KnownGpu{"RTX 4060", 15.1, 272, 2.46, 8, 89},
    KnownGpu{"RTX 4070 Ti", 40, 504, 2.61, 12, 89}, KnownGpu{"RTX 4080", 48.7, 717, 2.51, 16, 89},
    KnownGpu{"T4", 32.5, 320, 1.59, 16, 75},        KnownGpu{"A100", 156, 2039, 1.41, 80, 80},
    KnownGpu{"H100", 495, 3350, 1.98, 80, 90},      KnownGpu{"H200", 495, 4800, 1.98, 141, 90},
};

// What was measured on an H200 (docs/performance.md): with kernels of our own 1.9 µs for the 1.1 million
// multiply-adds of w1 at batch 32 up to 255 µs for the 8.5 thousand million of w2, by the graph engine 89 µs
// and 1,140 µs. Between them time grows with a power of the work: more of it fills more of the chip.
constexpr double measured_clock = 1.98;
constexpr double work_of_first = 1.1e6;
constexpr double kernel_seconds = 1.9e-6;
constexpr double kernel_power = 0.53;
constexpr double graph_seconds = 89e-6;
constexpr double graph_power = 0.25;
// Of what the maker says that there is, what such steps get.
constexpr double share_of_products = 0.3;
constexpr double share_of_bandwidth = 0.7;
// CUDA takes so long to begin, and LibTorch with it; rows come over the bus at this rate.
constexpr double cuda_seconds = 0.4;
constexpr double libtorch_seconds = 0.5;
constexpr double bus_bytes = 12e9;

double step_count_of(const Work& work) {
  const std::int64_t batch = std::max<std::int64_t>(work.batch_size, 1);
  return static_cast<double>(work.members) * static_cast<double>(work.epochs) *
         static_cast<double>((work.rows + batch - 1) / batch);
}

bool has_kernels(const Work& work, const KnownGpu& gpu) {
  return work.kernels_from > 0 && gpu.capability >= work.kernels_from;
}

bool takes_libtorch(const Work& work, const KnownGpu& gpu) {
  return work.needs_libtorch || !has_kernels(work, gpu);
}

double begin_seconds(std::span<const Work> works, bool with_libtorch) {
  double bytes = 0;
  for (const Work& each : works) bytes += static_cast<double>(each.training_bytes);
  return cuda_seconds + (with_libtorch ? libtorch_seconds : 0) + bytes / bus_bytes;
}

}  // namespace

std::span<const KnownGpu> known_gpus() {
  return gpus;
}

StepDemand demand_of(const Work& work) {
  constexpr double passes = 3;  // forward, and two products on the way back
  constexpr double touches =
      7 * 4.0;  // bytes of a weight: it, its gradient and two moments, read and written
  const auto batch = static_cast<double>(work.batch_size);
  const double rows = static_cast<double>(std::max<std::int64_t>(work.rows, 1));
  return {passes * batch * static_cast<double>(work.multiply_adds),
          touches * static_cast<double>(work.parameters) +
              batch * static_cast<double>(work.training_bytes) / rows};
}

double estimated_step_seconds(const Work& work, const KnownGpu& gpu) {
  const StepDemand demand = demand_of(work);
  const double amount = std::max(demand.multiply_adds / work_of_first, 1e-2);
  const double on_h200 = has_kernels(work, gpu) ? kernel_seconds * std::pow(amount, kernel_power)
                                                : graph_seconds * std::pow(amount, graph_power);
  return std::max({on_h200 * measured_clock / gpu.clock,
                   demand.multiply_adds / (share_of_products * gpu.products * 1e12),
                   demand.bytes / (share_of_bandwidth * gpu.bandwidth * 1e9)});
}

std::vector<GpuEstimate> estimate_gpus(std::span<const Work> works, double here_seconds,
                                       double loop_seconds) {
  std::vector<GpuEstimate> estimates;
  for (const KnownGpu& gpu : gpus) {
    GpuEstimate estimate;
    estimate.name = gpu.name;
    double bytes = 0;
    bool with_libtorch = false;
    for (const Work& work : works) {
      if (work.is_solved) continue;
      const double step = estimated_step_seconds(work, gpu);
      estimate.step_seconds = std::max(estimate.step_seconds, step);
      estimate.training_seconds += step_count_of(work) * step;
      with_libtorch = with_libtorch || takes_libtorch(work, gpu);
      bytes = std::max(
          bytes, static_cast<double>(work.training_bytes) + 4.0 * 5 * static_cast<double>(work.parameters));
    }
    estimate.seconds =
        here_seconds - loop_seconds + begin_seconds(works, with_libtorch) + estimate.training_seconds;
    estimate.has_room = bytes < gpu.memory_gib * 1073741824.0;
    estimate.pays = estimate.seconds < here_seconds;
    estimates.push_back(estimate);
  }
  return estimates;
}

NeededGpu needed_gpu(std::span<const Work> works, double loop_seconds) {
  NeededGpu needed;
  double steps = 0;
  StepDemand demand;
  bool with_libtorch = false;
  for (const Work& work : works) {
    if (work.is_solved) continue;
    const double own = step_count_of(work);
    const StepDemand each = demand_of(work);
    steps += own;
    demand.multiply_adds += own * each.multiply_adds;
    demand.bytes += own * each.bytes;
    with_libtorch = with_libtorch || work.needs_libtorch || work.kernels_from == 0;
  }
  const double left = loop_seconds - begin_seconds(works, with_libtorch);
  if (steps == 0 || left <= 0) return needed;
  needed.is_possible = true;
  needed.step_seconds = left / steps;
  needed.products = demand.multiply_adds / left / 1e12;
  needed.bandwidth = demand.bytes / left / 1e9;
  return needed;
}

}  // namespace stoker::advise
