#include <cuda_runtime.h>

#include "engine/kernels/losses.h"

namespace stoker::kernels {
namespace {

constexpr int threads = 128;

__device__ float mse_row(const float* outputs, const float* targets, std::int64_t width, float per_row,
                         float* gradients) {
  const float per_output = 1.0F / static_cast<float>(width);
  float loss = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const float difference = outputs[i] - targets[i];
    loss += difference * difference;
    if (gradients != nullptr) gradients[i] = 2.0F * difference * per_output * per_row;
  }
  return loss * per_output;
}

__device__ float huber_row(const float* outputs, const float* targets, std::int64_t width, float delta,
                           float per_row, float* gradients) {
  const float per_output = 1.0F / static_cast<float>(width);
  float loss = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const float difference = outputs[i] - targets[i];
    const float size = fabsf(difference);
    const bool is_near = size <= delta;
    loss += is_near ? 0.5F * difference * difference : delta * (size - 0.5F * delta);
    if (gradients != nullptr)
      gradients[i] = (is_near ? difference : difference > 0 ? delta : -delta) * per_output * per_row;
  }
  return loss * per_output;
}

__device__ float binary_row(float logit, float target, float per_row, float* gradient) {
  const float small = expf(-fabsf(logit));
  const float probability = (logit >= 0 ? 1.0F : small) / (1.0F + small);
  if (gradient != nullptr) *gradient = (probability - target) * per_row;
  return fmaxf(logit, 0.0F) - logit * target + log1pf(small);
}

__device__ float class_row(const float* logits, std::int64_t target, std::int64_t width, float per_row,
                           float* gradients) {
  float largest = logits[0];
  for (std::int64_t i = 1; i < width; ++i) largest = fmaxf(largest, logits[i]);
  float sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum += expf(logits[i] - largest);
  if (gradients != nullptr) {
    for (std::int64_t i = 0; i < width; ++i) {
      const float probability = expf(logits[i] - largest) / sum;
      gradients[i] = (probability - (i == target ? 1.0F : 0.0F)) * per_row;
    }
  }
  return logf(sum) - (logits[target] - largest);
}

// A thread has one row. Networks for tables have few outputs; a warp per row would leave most lanes idle.
__global__ void __launch_bounds__(threads) losses_kernel(Losses work) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (row >= work.rows) return;
  const float per_row = 1.0F / static_cast<float>(work.rows);
  const float* outputs = work.outputs + row * work.width;
  float* gradients = work.gradients == nullptr ? nullptr : work.gradients + row * work.width;
  float loss = 0;
  if (work.loss == Loss::mse) {
    loss = mse_row(outputs, work.float_targets + row * work.width, work.width, per_row, gradients);
  } else if (work.loss == Loss::huber) {
    loss = huber_row(outputs, work.float_targets + row * work.width, work.width, work.huber_delta, per_row,
                     gradients);
  } else if (work.loss == Loss::binary_cross_entropy) {
    loss = binary_row(*outputs, work.float_targets[row], per_row, gradients);
  } else {
    loss = class_row(outputs, work.class_targets[row], work.width, per_row, gradients);
  }
  if (*work.stopped == 0) work.row_sums[row] += loss;
}

}  // namespace

LaunchError losses_cuda(const Losses& work, Stream stream) {
  const auto blocks = static_cast<unsigned>((work.rows + threads - 1) / threads);
  losses_kernel<<<blocks, threads, 0, stream>>>(work);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
