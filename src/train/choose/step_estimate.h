#pragma once

#include <cstdint>

#include "engine/engine.h"

// How long a training step may take, from its arithmetic and its bytes: of GPUs that are not here, and of
// what has not been measured yet.
namespace stoker {

// Multiply-adds and bytes that a training step takes.
struct StepDemand {
  double multiply_adds = 0;
  double bytes = 0;
};

// Of batches of so many rows; a row takes `multiply_adds` on its way forward and has so many bytes.
StepDemand demand_of_step(std::int64_t batch_rows, std::int64_t multiply_adds, std::int64_t parameters,
                          double row_bytes);
StepDemand demand_of_step(const EngineRequest& request);

// As its maker says.
struct GpuRates {
  double products;   // multiply-adds a second, 16 bits where it has units for that, in 1e12
  double bandwidth;  // of its memory, 1e9 bytes a second
  double clock;      // 1e9 a second, at its best
};
constexpr GpuRates rates_of_h200{495, 4800, 1.98};

// With kernels of our own, or with LibTorch's.
double estimated_gpu_step(const StepDemand& demand, const GpuRates& gpu, bool has_kernels);
// By the fused engine on one core, and rather too long than too short.
double estimated_cpu_step(const StepDemand& demand);

// Rows are taken to come to a GPU at this rate.
constexpr double bus_bytes_a_second = 12e9;

}  // namespace stoker
