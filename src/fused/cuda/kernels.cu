#include <algorithm>
#include <climits>

#include <cuda_runtime.h>

#include "base/random.h"
#include "fused/cuda/fp32/plain_math.cuh"
#include "fused/cuda/kernels.h"
#include "kernels/epoch_decision.h"

namespace stoker::fused {
namespace {

LaunchError last_error() {
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

unsigned blocks_for(std::int64_t elements, int block) {
  return static_cast<unsigned>((elements + block - 1) / block);
}

__global__ void prepare_rows_kernel(RowsWork work) {
  const std::int64_t pairs = work.depth / 2;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row = index / pairs;
  if (row >= work.rows) return;
  const int column = static_cast<int>(index % pairs) * 2;
  if (column == 0) {
    const float target =
        work.float_targets != nullptr ? work.float_targets[row] : static_cast<float>(work.class_targets[row]);
    work.targets[row] = {target, work.weights != nullptr ? row_weight(work.weights[row]) : 1.0F};
  }
  if (work.half_features == nullptr) return;
  float values[2];
  for (int i = 0; i < 2; ++i) {
    values[i] = column + i == work.columns ? 1.0F : 0.0F;
    if (column + i < work.columns) values[i] = work.features[row * work.columns + column + i];
    if (fabsf(values[i]) > most_feature) *work.beyond = 1;
  }
  reinterpret_cast<Word*>(work.half_features)[index] = pack(values[0], values[1]);
}

__global__ void class_range_kernel(const std::int64_t* classes, std::int64_t count, ClassRange* range) {
  long long least = LLONG_MAX, most = LLONG_MIN;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    least = min(least, static_cast<long long>(classes[i]));
    most = max(most, static_cast<long long>(classes[i]));
  }
  for (int away = 16; away > 0; away /= 2) {
    least = min(least, __shfl_xor_sync(~0U, least, away));
    most = max(most, __shfl_xor_sync(~0U, most, away));
  }
  if (threadIdx.x % 32 != 0) return;
  atomicMin(reinterpret_cast<long long*>(&range->least), least);
  atomicMax(reinterpret_cast<long long*>(&range->most), most);
}

// A block is a model's, and lists some of its places. Divisions of 64 bits are slow: two for each tile of
// places, which the places themselves go on from in 32.
constexpr int list_threads = 256;
constexpr int listed_places = 8 * list_threads;

__global__ void __launch_bounds__(list_threads) list_rows_kernel(const StepsWork* models) {
  const StepsWork& work = models[blockIdx.x];
  const std::int64_t places = work.steps * work.stride;
  const auto stride = static_cast<std::uint32_t>(work.stride);
  const auto steps_per_epoch = static_cast<std::uint32_t>(work.steps_per_epoch);
  for (std::int64_t tile = static_cast<std::int64_t>(blockIdx.y) * listed_places; tile < places;
       tile += static_cast<std::int64_t>(gridDim.y) * listed_places) {
    const std::int64_t tile_step = work.first_step + tile / work.stride;
    const std::int64_t tile_epoch = tile_step / work.steps_per_epoch;
    const auto tile_place = static_cast<std::uint32_t>(tile % work.stride);
    const auto tile_offset = static_cast<std::uint32_t>(tile_step % work.steps_per_epoch);
    for (std::uint32_t i = threadIdx.x; i < listed_places && tile + i < places; i += list_threads) {
      const std::uint32_t place = (tile_place + i) % stride;
      const std::uint32_t offset = tile_offset + (tile_place + i) / stride;
      const std::int64_t epoch = tile_epoch + offset / steps_per_epoch;
      const std::int64_t position = static_cast<std::int64_t>(offset % steps_per_epoch) * work.batch + place;
      const bool there = place < work.batch && position < work.rows;
      const Permutation permutation(
          random_key(work.seed, Purpose::shuffle, static_cast<std::uint64_t>(epoch)),
          static_cast<std::uint64_t>(work.rows));
      work.order[tile + i] =
          there ? static_cast<std::int32_t>(permutation(static_cast<std::uint64_t>(position))) : -1;
    }
  }
}

// Powers in double precision take long: a thread each, not one of a warp.
__global__ void prepare_factors_kernel(const StepsWork* models) {
  const StepsWork& work = models[blockIdx.x];
  const std::int64_t offset = static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
  if (offset >= work.steps) return;
  const std::int64_t step = work.first_step + offset;
  const double rate = work.rates[offset];
  const std::int64_t left = work.rows - (step % work.steps_per_epoch) * work.batch;
  const double batch_rows = static_cast<double>(left < work.batch ? left : work.batch);
  StepFactors factors{static_cast<float>(-rate), 1.0F, static_cast<float>(work.loss_scale / batch_rows),
                      dropout_key(work.seed, static_cast<std::uint64_t>(step), 0).first};
  if (work.optimizer != number::sgd) {
    // The kernel keeps m / (1 - beta1) and v / (1 - beta2): their factors are made up for here.
    const double number = static_cast<double>(step + 1);
    const double first = (1.0 - work.beta1) / (1.0 - pow(work.beta1, number));
    const double second = (1.0 - pow(work.beta2, number)) / (1.0 - work.beta2);
    factors.rate = static_cast<float>(-rate * first * sqrt(second));
    if (work.optimizer == number::adamw) factors.keep = static_cast<float>(1.0 - rate * work.weight_decay);
  }
  work.factors[offset] = factors;
}

// ---- validation: plain fp32, a block has 32 rows, a thread one column of eight rows at a time
constexpr int judge_threads = 256;
constexpr int decide_threads = 1024;
constexpr int row_group = 8;

// Rows whose activations fit into the shared memory that every GPU has for a block: wide networks take the
// block's rows in several turns.
int rows_of_a_turn(const Plan& plan) {
  int count = validation_rows_of_a_block;
  while (count > row_group && 2 * count * (plan.widest() + 1) * 4 > 99 * 1024) count /= 2;
  return count;
}

__device__ float* layer_outputs(const Plan& plan, const float* parameters, int layer, int row_count,
                                const float* inputs, float* outputs, int stride) {
  const int deep = plan.width[layer], wide = plan.width[layer + 1], breadth = plan.breadth(layer);
  const float* matrix = parameters + plan.matrix_at(layer);
  const float* bias = layer == 0 ? matrix + deep * breadth : parameters + plan.bias_at(layer);
  const int groups = row_count / row_group;
  for (int unit = static_cast<int>(threadIdx.x); unit < wide * groups; unit += judge_threads) {
    const int column = unit % wide, first = unit / wide * row_group;
    float sums[row_group];
    for (int i = 0; i < row_group; ++i) sums[i] = bias[column];
    for (int k = 0; k < deep; ++k) {
      const float weight = matrix[k * breadth + column];
      for (int i = 0; i < row_group; ++i) sums[i] = fmaf(inputs[(first + i) * stride + k], weight, sums[i]);
    }
    for (int i = 0; i < row_group; ++i) outputs[(first + i) * stride + column] = sums[i];
  }
  __syncthreads();
  return outputs;
}

__device__ float row_loss(const Plan& plan, const float* outputs, RowTarget target, float loss_shape) {
  if (plan.loss == number::cross_entropy) {
    const int classes = plan.width[plan.layers];
    float most = outputs[0], sum = 0;
    for (int i = 1; i < classes; ++i) most = fmaxf(most, outputs[i]);
    for (int i = 0; i < classes; ++i) sum += expf(outputs[i] - most);
    return logf(sum) - (outputs[static_cast<int>(target.target)] - most);
  }
  return scalar_loss(plan.loss, outputs[0], target.target, loss_shape).loss;
}

__device__ bool is_row_right(const Plan& plan, const float* outputs, float target) {
  if (plan.loss == number::cross_entropy)
    return is_first_largest(outputs, plan.width[plan.layers], static_cast<int>(target));
  return is_right(outputs[0], target);
}

__device__ bool epoch_ends(const EpochWork& work, std::int64_t steps) {
  return steps > 0 && *work.end.stopped == 0 &&
         (work.end.counters->step + steps) % work.end.steps_per_epoch == 0;
}

// The outputs of rows first .. first + row_count - 1, zeros for those behind the last.
__device__ const float* outputs_of(const Plan& plan, const EpochWork& work, std::int64_t first, int row_count,
                                   float* values) {
  const int stride = plan.widest() + 1, columns = plan.width[0];
  float* now = values;
  float* next = values + row_count * stride;
  for (int i = static_cast<int>(threadIdx.x); i < row_count * columns; i += judge_threads) {
    const std::int64_t row = first + i / columns;
    now[i / columns * stride + i % columns] =
        row < work.end.validation_rows ? work.features[row * columns + i % columns] : 0;
  }
  __syncthreads();
  for (int layer = 0; layer < plan.layers; ++layer) {
    layer_outputs(plan, work.end.parameters, layer, row_count, now, next, stride);
    const int wide = plan.width[layer + 1];
    if (layer < plan.hidden()) {
      for (int i = static_cast<int>(threadIdx.x); i < row_count * wide; i += judge_threads) {
        float& value = next[i / wide * stride + i % wide];
        value = activated(plan.activation, value).value;
      }
      __syncthreads();
    }
    float* swap = now;
    now = next;
    next = swap;
  }
  return now;
}

__global__ void __launch_bounds__(judge_threads)
    validation_kernel(Plan plan, const EpochWork* models, Advance advance, int row_count) {
  extern __shared__ float values[];
  const EpochWork& work = models[blockIdx.y];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * validation_rows_of_a_block;
  if (!epoch_ends(work, advance.steps[blockIdx.y]) || first >= work.end.validation_rows) return;
  const int place = static_cast<int>(threadIdx.x);
  double loss = 0;  // of row `place` of the block
  double hits = 0;
  const bool counts = work.end.validation_hits != nullptr;
  for (int turn = 0; turn < validation_rows_of_a_block; turn += row_count) {
    const float* outputs = outputs_of(plan, work, first + turn, row_count, values);
    const bool is_mine = place >= turn && place < turn + row_count;
    if (is_mine && first + place < work.end.validation_rows) {
      const RowTarget target = work.targets[first + place];
      const float* of_row = outputs + (place - turn) * (plan.widest() + 1);
      loss = row_loss(plan, of_row, target, work.loss_shape) * target.weight;
      if (counts && is_row_right(plan, of_row, target.target)) hits = 1;
    }
    __syncthreads();
  }
  if (place >= 32) return;
  for (int away = 16; away > 0; away /= 2) loss += __shfl_down_sync(~0U, loss, away);
  if (place == 0) work.validation_parts[blockIdx.x] = loss;
  if (!counts) return;
  for (int away = 16; away > 0; away /= 2) hits += __shfl_down_sync(~0U, hits, away);
  if (place == 0) work.end.validation_hits[blockIdx.x] = hits;
}

// In the order in which they lie, whatever the number of threads. One thread adds what all have fetched: each
// for itself, values would come as late after each other as device memory answers. To be called by the whole
// block; the sum is the first thread's.
__device__ double taken_sum(double* values, std::int64_t count) {
  __shared__ double fetched[judge_threads];
  double sum = 0;
  for (std::int64_t first = 0; first < count; first += judge_threads) {
    const int here = static_cast<int>(count - first < judge_threads ? count - first : judge_threads);
    if (static_cast<int>(threadIdx.x) < here) {
      fetched[threadIdx.x] = values[first + threadIdx.x];
      values[first + threadIdx.x] = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0)
      for (int i = 0; i < here; ++i) sum += fetched[i];
    __syncthreads();
  }
  return sum;
}

__global__ void __launch_bounds__(decide_threads) decide_kernel(const EpochWork* models, Advance advance) {
  __shared__ bool is_best;
  const EpochWork& work = models[blockIdx.x];
  const std::int64_t steps = advance.steps[blockIdx.x];
  if (steps == 0 || *work.end.stopped != 0) return;
  const bool ends = epoch_ends(work, steps);
  const double train = ends ? taken_sum(work.end.row_sums, work.end.row_sum_count) : 0;
  const double validation = ends && work.end.validation_rows > 0
                                ? taken_sum(work.validation_parts, work.end.validation_sum_count)
                                : 0;
  kernels::EpochHits hits;
  if (ends && work.end.train_hits != nullptr)
    hits.train = taken_sum(work.end.train_hits, work.end.row_sum_count);
  if (ends && work.end.validation_hits != nullptr)
    hits.validation = taken_sum(work.end.validation_hits, work.end.validation_sum_count);
  __syncthreads();
  if (threadIdx.x == 0) {
    work.end.counters->step += steps;
    is_best = ends && kernels::decide_epoch(work.end, train, validation, hits);
  }
  __syncthreads();
  if (!is_best) return;
  // Each model's parameters begin and end at a multiple of 16.
  const auto* from = reinterpret_cast<const float4*>(work.end.parameters);
  auto* to = reinterpret_cast<float4*>(work.end.best_parameters);
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < work.end.parameter_count / 4; i += decide_threads) to[i] = from[i];
}

__global__ void beyond_kernel(const float* values, std::int64_t each, float bound, std::uint32_t* flags) {
  const float* mine = values + blockIdx.x * each;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.x;
  for (std::int64_t i = blockIdx.y * blockDim.x + threadIdx.x; i < each; i += step)
    if (!(fabsf(mine[i]) <= bound)) flags[blockIdx.x] = 1;
}

}  // namespace

LaunchError prepare_rows(const RowsWork& work, Stream stream) {
  prepare_rows_kernel<<<blocks_for(work.rows * work.depth / 2, 256), 256, 0, stream>>>(work);
  return last_error();
}

LaunchError find_class_range(const std::int64_t* classes, std::int64_t count, ClassRange* range,
                             Stream stream) {
  class_range_kernel<<<std::min(blocks_for(count, 256 * 16), 1024U), 256, 0, stream>>>(classes, count, range);
  return last_error();
}

LaunchError list_rows(const StepsWork* models, int count, std::int64_t most_steps, std::int64_t stride,
                      Stream stream) {
  constexpr unsigned most_tiles = 65'535;  // of a grid's second dimension; blocks take several beyond it
  const dim3 grid(static_cast<unsigned>(count),
                  std::min(blocks_for(most_steps * stride, listed_places), most_tiles));
  list_rows_kernel<<<grid, list_threads, 0, stream>>>(models);
  return last_error();
}

LaunchError prepare_factors(const StepsWork* models, int count, std::int64_t most_steps, Stream stream) {
  const dim3 grid(static_cast<unsigned>(count), blocks_for(most_steps, 64));
  prepare_factors_kernel<<<grid, 64, 0, stream>>>(models);
  return last_error();
}

LaunchError judge_epochs(const Plan& plan, const EpochWork* models, const Advance& advance, int count,
                         std::int64_t most_validation_rows, Stream stream) {
  if (most_validation_rows > 0) {
    const int row_count = rows_of_a_turn(plan);
    const int bytes = 2 * row_count * (plan.widest() + 1) * 4;
    cudaFuncSetAttribute(validation_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    const dim3 grid(blocks_for(most_validation_rows, validation_rows_of_a_block),
                    static_cast<unsigned>(count));
    validation_kernel<<<grid, judge_threads, static_cast<unsigned>(bytes), stream>>>(plan, models, advance,
                                                                                     row_count);
  }
  decide_kernel<<<static_cast<unsigned>(count), decide_threads, 0, stream>>>(models, advance);
  return last_error();
}

LaunchError find_beyond(const float* values, std::int64_t each, int count, float bound, std::uint32_t* flags,
                        Stream stream) {
  const dim3 grid(static_cast<unsigned>(count), std::min(blocks_for(each, 256 * 64), 1024U));
  beyond_kernel<<<grid, 256, 0, stream>>>(values, each, bound, flags);
  return last_error();
}

}  // namespace stoker::fused
