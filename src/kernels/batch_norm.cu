#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/batch_norm.h"

namespace stoker::kernels {
namespace {

// A block has 32 neighbouring columns and goes through all rows, 32 at a time: one launch, and sums in an
// order that is always the same.
constexpr int columns_of_block = 32;
constexpr int rows_at_once = 32;

struct Sums {
  float values[rows_at_once][columns_of_block + 1];
};

// Over the threads of a column; every one of them gets it.
__device__ float sum_of_column(float own, Sums& shared) {
  __syncthreads();  // what was summed before has been read
  shared.values[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  for (int half = rows_at_once / 2; half > 0; half /= 2) {
    if (threadIdx.y < half)
      shared.values[threadIdx.y][threadIdx.x] += shared.values[threadIdx.y + half][threadIdx.x];
    __syncthreads();
  }
  return shared.values[0][threadIdx.x];
}

template <class Value>
__global__ void __launch_bounds__(columns_of_block* rows_at_once) batch_norm_kernel(BatchNorm work) {
  __shared__ Sums shared;
  const std::int64_t width = work.of.width;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * columns_of_block + threadIdx.x;
  const bool is_inside = column < width;
  const std::int64_t count = work.of.counted_rows();  // the same for all threads
  const auto* values = static_cast<const Value*>(work.of.values) + column;
  float mean = is_inside ? work.running_mean[column] : 0.0F;
  float variance = is_inside ? work.running_variance[column] : 0.0F;
  if (count > 1) {
    float sum = 0;
    if (is_inside)
      for (std::int64_t row = threadIdx.y; row < count; row += rows_at_once)
        sum += static_cast<float>(values[row * width]);
    const float new_mean = sum_of_column(sum, shared) / static_cast<float>(count);
    float squares = 0;
    if (is_inside)
      for (std::int64_t row = threadIdx.y; row < count; row += rows_at_once) {
        const float difference = static_cast<float>(values[row * width]) - new_mean;
        squares += difference * difference;
      }
    squares = sum_of_column(squares, shared);
    if (is_inside && threadIdx.y == 0) {
      const float unbiased = squares / static_cast<float>(count - 1);
      work.running_mean[column] = mean + work.momentum * (new_mean - mean);
      work.running_variance[column] = variance + work.momentum * (unbiased - variance);
    }
    mean = new_mean;
    variance = squares / static_cast<float>(count);
  }
  if (!is_inside) return;
  const float inverse = 1.0F / sqrtf(variance + work.epsilon);
  if (threadIdx.y == 0) {
    work.mean[column] = mean;
    work.inverse_deviation[column] = inverse;
  }
  const float weight = work.weight[column];
  const float bias = work.bias[column];
  auto* normed = static_cast<Value*>(work.normed) + column;
  for (std::int64_t row = threadIdx.y; row < work.of.rows; row += rows_at_once)
    normed[row * width] =
        static_cast<Value>((static_cast<float>(values[row * width]) - mean) * inverse * weight + bias);
}

template <class Value>
__global__ void __launch_bounds__(columns_of_block* rows_at_once) batch_norm_back_kernel(BatchNormBack work) {
  __shared__ Sums shared;
  const std::int64_t width = work.of.width;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * columns_of_block + threadIdx.x;
  const bool is_inside = column < width;
  const std::int64_t count = work.of.counted_rows();
  const auto* values = static_cast<const Value*>(work.of.values) + column;
  const auto* gradient = static_cast<const Value*>(work.gradient) + column;
  const float mean = is_inside ? work.mean[column] : 0.0F;
  const float inverse = is_inside ? work.inverse_deviation[column] : 0.0F;
  float sum = 0;
  float with_normed = 0;
  if (is_inside)
    for (std::int64_t row = threadIdx.y; row < count; row += rows_at_once) {
      const float each = static_cast<float>(gradient[row * width]);
      sum += each;
      with_normed += each * (static_cast<float>(values[row * width]) - mean) * inverse;
    }
  sum = sum_of_column(sum, shared);
  with_normed = sum_of_column(with_normed, shared);
  if (!is_inside) return;
  if (threadIdx.y == 0) {
    work.bias_gradient[column] = sum;
    work.weight_gradient[column] = with_normed;
  }
  // The moments of a prediction do not depend on the rows.
  const float share = count > 1 ? 1.0F / static_cast<float>(count) : 0.0F;
  const float factor = inverse * work.weight[column];
  auto* values_gradient = static_cast<Value*>(work.values_gradient) + column;
  for (std::int64_t row = threadIdx.y; row < work.of.rows; row += rows_at_once) {
    const float normed = (static_cast<float>(values[row * width]) - mean) * inverse;
    const float centred = static_cast<float>(gradient[row * width]) - share * (sum + normed * with_normed);
    values_gradient[row * width] = static_cast<Value>(row < count ? centred * factor : 0.0F);
  }
}

dim3 blocks_of(const NormedRows& of) {
  return dim3(static_cast<unsigned>((of.width + columns_of_block - 1) / columns_of_block));
}

LaunchError answer() {
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

constexpr dim3 threads_of_block(columns_of_block, rows_at_once);

}  // namespace

LaunchError batch_norm_cuda(const BatchNorm& work, Stream stream) {
  const dim3 blocks = blocks_of(work.of);
  switch (work.of.format) {
    case FloatFormat::fp32:
      batch_norm_kernel<float><<<blocks, threads_of_block, 0, stream>>>(work);
      break;
    case FloatFormat::bf16:
      batch_norm_kernel<__nv_bfloat16><<<blocks, threads_of_block, 0, stream>>>(work);
      break;
    case FloatFormat::fp16:
      batch_norm_kernel<__half><<<blocks, threads_of_block, 0, stream>>>(work);
      break;
  }
  return answer();
}

LaunchError batch_norm_back_cuda(const BatchNormBack& work, Stream stream) {
  const dim3 blocks = blocks_of(work.of);
  switch (work.of.format) {
    case FloatFormat::fp32:
      batch_norm_back_kernel<float><<<blocks, threads_of_block, 0, stream>>>(work);
      break;
    case FloatFormat::bf16:
      batch_norm_back_kernel<__nv_bfloat16><<<blocks, threads_of_block, 0, stream>>>(work);
      break;
    case FloatFormat::fp16:
      batch_norm_back_kernel<__half><<<blocks, threads_of_block, 0, stream>>>(work);
      break;
  }
  return answer();
}

}  // namespace stoker::kernels
