#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "advise/measured_steps.h"
#include "train/choose/step_estimate.h"

// What a GPU that is not here would take, from the arithmetic and the bytes of a step. Estimates: nothing of
// it was measured on the GPU that it is about.
namespace stoker::advise {

struct KnownGpu {
  const char* name;
  double products;  // multiply-adds a second, 16 bits where it has units for that, as its maker says, in 1e12
  double fp32_products;
  double bandwidth;  // of its memory, 1e9 bytes a second
  double clock;      // 1e9 a second, at its best
  double memory_gib;
  int capability;  // of compute, 80 for 8.0
};

std::span<const KnownGpu> known_gpus();

struct GpuEstimate {
  std::string name;
  double step_seconds = 0;
  double training_seconds = 0;
  double seconds = 0;  // of the whole run
  bool pays = false;   // it is faster than the best way here
  bool has_room = true;
};

// What a step must take at most, so that a GPU pays, and what that asks of one.
struct NeededGpu {
  bool is_possible = false;  // false: getting a GPU ready takes longer than the steps take here
  double step_seconds = 0;
  double products = 0;   // 1e12 multiply-adds a second
  double bandwidth = 0;  // 1e9 bytes a second
};

// Of a graph that LibTorch trains, with what its operations read and write.
StepDemand demand_of(const Work& work);

double estimated_step_seconds(const Work& work, const KnownGpu& gpu);
// Of a step in which LibTorch goes through a graph, what the host takes to begin it, on any GPU; the longest
// of these, 0 where there is none.
double host_seconds_of_step(std::span<const Work> works);

// `here_seconds` is the best whole run that was predicted here, `loop_seconds` what its steps take of it.
std::vector<GpuEstimate> estimate_gpus(std::span<const Work> works, double here_seconds, double loop_seconds);
NeededGpu needed_gpu(std::span<const Work> works, double loop_seconds);

}  // namespace stoker::advise
