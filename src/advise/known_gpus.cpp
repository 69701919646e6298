#include "advise/known_gpus.h"

#include <algorithm>
#include <array>

namespace stoker::advise {
namespace {

// Tensor cores with dense operands of 16 bits and sums of 32, from the makers' data sheets; the GTX 1650 has
// none, so its ordinary units count.
constexpr std::array gpus{
    KnownGpu{"GTX 1650", 1.5, 1.5, 128, 1.67, 4, 75},
    KnownGpu{"RTX 3050", 9.1, 4.5, 224, 1.78, 8, 86},
    KnownGpu{"RTX 3060", 12.7, 6.4, 360, 1.78, 12, 86},
    KnownGpu{"RTX 4060", 15.1, 7.6, 272, 2.46, 8, 89},
    KnownGpu{"RTX 4070 Ti", 40, 20, 504, 2.61, 12, 89},
    KnownGpu{"RTX 4080", 48.7, 24.4, 717, 2.51, 16, 89},
    KnownGpu{"T4", 32.5, 4.1, 320, 1.59, 16, 75},
    KnownGpu{"A100", 156, 9.7, 2039, 1.41, 80, 80},
    KnownGpu{"H100", 495, 33.5, 3350, 1.98, 80, 90},
    KnownGpu{"H200", rates_of_h200.products, 33.5, rates_of_h200.bandwidth, rates_of_h200.clock, 141, 90},
};

// CUDA takes so long to begin, and LibTorch with it.
constexpr double cuda_seconds = 0.4;
constexpr double libtorch_seconds = 0.5;

// Of one node of a graph, forward and back, measured on an H200 (docs/advice.md).
constexpr double seconds_of_node = 330e-6;
constexpr double touches_of_node = 10;  // of what it writes
constexpr double share_of_bandwidth = 0.7;
constexpr double share_of_products = 0.3;

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

// LibTorch goes from operation to operation, which the host begins one by one, in 32 bits.
double estimated_graph_step(const Work& work, const KnownGpu& gpu) {
  const StepDemand demand = demand_of(work);
  return std::max({seconds_of_node * static_cast<double>(work.nodes),
                   demand.multiply_adds / (share_of_products * gpu.fp32_products * 1e12),
                   demand.bytes / (share_of_bandwidth * gpu.bandwidth * 1e9)});
}

double begin_seconds(std::span<const Work> works, bool with_libtorch) {
  double bytes = 0;
  for (const Work& each : works) bytes += static_cast<double>(each.training_bytes);
  return cuda_seconds + (with_libtorch ? libtorch_seconds : 0) + bytes / bus_bytes_a_second;
}

// The rows, the parameters with their gradients and moments, and what nodes keep of a batch for the way back.
double bytes_on_gpu(const Work& work) {
  return static_cast<double>(work.training_bytes) + 4.0 * 5 * static_cast<double>(work.parameters) +
         4.0 * static_cast<double>(work.batch_size) * static_cast<double>(work.written_bytes);
}

}  // namespace

std::span<const KnownGpu> known_gpus() {
  return gpus;
}

StepDemand demand_of(const Work& work) {
  const double rows = static_cast<double>(std::max<std::int64_t>(work.rows, 1));
  StepDemand demand = demand_of_step(work.batch_size, work.multiply_adds, work.parameters,
                                     static_cast<double>(work.training_bytes) / rows);
  demand.bytes +=
      touches_of_node * static_cast<double>(work.batch_size) * static_cast<double>(work.written_bytes);
  return demand;
}

double estimated_step_seconds(const Work& work, const KnownGpu& gpu) {
  if (work.nodes > 0) return estimated_graph_step(work, gpu);
  return estimated_gpu_step(demand_of(work), {gpu.products, gpu.bandwidth, gpu.clock},
                            has_kernels(work, gpu));
}

double host_seconds_of_step(std::span<const Work> works) {
  std::int64_t nodes = 0;
  for (const Work& work : works) nodes = std::max(nodes, work.nodes);
  return seconds_of_node * static_cast<double>(nodes);
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
      bytes = std::max(bytes, bytes_on_gpu(work));
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
