#pragma once

#include <cstdint>

#ifndef __CUDACC__
struct float4;
#endif

// What the fused CUDA kernels read and write: one text for the host, nvcc and the run-time compiler, so plain
// types only.
namespace stoker::fused {

// One per training step, made before them: whatever depends on the step alone.
struct StepFactors {
  float rate;  // Adam: -learning rate with both bias corrections; sgd: -learning rate
  float keep;  // what is left of a weight before its update: 1 - learning rate * weight_decay (adamw), else 1
  float per_row;      // loss scale / rows of this batch
  std::uint32_t key;  // of dropout: the word that all layers of the step share
};

// A row's target beside its weight: 8 bytes that one asynchronous copy fetches. Copies of no row are filled
// with zeros, so that the weight 0 of a row is kept as -0 (math.cuh: row_weight, is_of_row).
struct RowTarget {
  float target;  // or the number of its class
  float weight;
};

// One model's training, in device memory. Parameters and moments lie flat and padded: see Plan.
struct ModelWork {
  const std::uint16_t* features;  // fp16 [rows, Plan::depth(0)]: padded with zeros, 1 behind the last column
  const RowTarget* targets;       // [rows]
  const std::int32_t* order;      // [steps, batch]: the rows of each step; -1 where the last batch has none
  const StepFactors* factors;     // [steps]
  float* parameters;
  float* first_moment;
  float* second_moment;
  double* row_sums;      // [batch], added to
  const float* stopped;  // 1: nothing is to be done
  std::uint64_t seed;
  std::int64_t first_step;  // of the run: dropout depends on it
  std::int32_t steps;
  std::uint32_t dropout_threshold;  // of 65,536
  float dropout_scale;              // 1 / (1 - probability)
  float beta1;                      // momentum for sgd
  float beta2;
  float epsilon;       // in the form that the second moment carries
  float weight_decay;  // added to the gradient (adam, sgd); 0 for adamw
  float loss_shape;
  float unscale;        // 1 / loss scale
  float max_grad_norm;  // 0: no clipping
  // A team's: rows that a step has in `order`, its clusters, what they meet at.
  std::int32_t order_stride;
  std::int32_t passes;  // of 32 rows that each block makes a step
  std::int32_t clusters;
  std::uint32_t* arrivals;  // counters, 0 at the start of a launch
  std::int64_t* clocks;     // cycles, where the kernel is compiled to count them
  double* row_hits;         // as row_sums: rows whose class was predicted right; null: not counted
  float4* exchange;  // a team's [2, clusters, blocks of a cluster, fours of a block]; a crowd's: CrowdLayout
};

// What one launch trains, as a kernel parameter: constants to the kernel, which costs no registers.
struct Models {
  static constexpr int most = 160;
  ModelWork model[most];
};
static_assert(sizeof(Models) <= 32'764);

}  // namespace stoker::fused
