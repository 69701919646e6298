#include <cuda_runtime.h>

#include "base/random.h"
#include "fused/cuda/fp32/losses.cuh"
#include "fused/cuda/fp32/optimizers.cuh"
#include "fused/cuda/fp32/plain.h"
#include "fused/cuda/fp32/plain_layout.h"

namespace stoker::fused {
namespace {

struct PlainBlock {
  const Plan& plan;
  const PlainWork& work;
  float* shared;
  PlainLayout layout{plan};
  int thread = static_cast<int>(threadIdx.x);

  __device__ float* inputs_of(int layer) const { return shared + layer * layout.layer(); }
  __device__ float* slopes_of(int h) const {
    return shared + layout.slopes_at(plan) + (h - 1) * layout.layer();
  }
  __device__ float* deltas(int layer) const {
    return shared + layout.deltas_at(plan) + (layer & 1) * layout.layer();
  }
  __device__ int bias_at(int layer) const {
    return layer == 0 ? plan.matrix_at(0) + plan.width[0] * plan.breadth(0) : plan.bias_at(layer);
  }

  __device__ void load_rows(const std::int32_t* order) const {
    const int columns = plan.width[0];
    for (int i = thread; i < rows * columns; i += threads) {
      const std::int64_t row = order[i / columns];
      inputs_of(0)[i / columns * layout.stride + i % columns] =
          row < 0 ? 0.0F : work.features[row * columns + i % columns];
    }
    __syncthreads();
  }

  // Layer by layer; the outputs of the last lie where its deltas will.
  __device__ void forward(std::int64_t step, int first_row) const {
    for (int layer = 0; layer < plan.layers; ++layer) {
      const int deep = plan.width[layer], wide = plan.width[layer + 1], breadth = plan.breadth(layer);
      const bool is_hidden = layer < plan.hidden();
      const float* in = inputs_of(layer);
      float* out = is_hidden ? inputs_of(layer + 1) : deltas(plan.layers);
      const float* matrix = work.model.parameters + plan.matrix_at(layer);
      const RandomKey key =
          dropout_key(work.model.seed, static_cast<std::uint64_t>(step), static_cast<Word>(layer));
      for (int i = thread; i < rows * wide; i += threads) {
        const int row = i / wide, column = i % wide;
        float sum = work.model.parameters[bias_at(layer) + column];
        for (int k = 0; k < deep; ++k)
          sum = fmaf(in[row * layout.stride + k], matrix[k * breadth + column], sum);
        if (is_hidden) {
          const Activated value = activated(plan.activation, sum);
          const Word element = static_cast<Word>((first_row + row) * wide + column);
          const bool is_dropped = plan.has_dropout && dropped(random_bits(key, element / 2), element,
                                                              work.model.dropout_threshold);
          const float scale = is_dropped ? 0.0F : work.model.dropout_scale;
          slopes_of(layer + 1)[row * layout.stride + column] = value.slope * scale;
          sum = value.value * scale;
        }
        out[row * layout.stride + column] = sum;
      }
      __syncthreads();
    }
  }

  // Turns the outputs into deltas, a thread a row.
  __device__ void losses(const std::int32_t* order, float per_row) const {
    if (thread < rows) {
      const std::int64_t row = order[thread];
      const RowTarget target = row < 0 ? RowTarget{0, 0} : work.model.targets[row];
      bool is_hit;
      const float loss = loss_of_row(plan, deltas(plan.layers) + thread * layout.stride, target.target,
                                     target.weight * per_row, work.model.loss_shape, is_hit);
      work.model.row_sums[thread] += static_cast<double>(loss) * target.weight;
      if (is_hit && is_of_row(target.weight)) work.model.row_hits[thread] += 1;
    }
    __syncthreads();
  }

  __device__ void backward(bool adds) const {
    for (int layer = plan.layers - 1; layer >= 0; --layer) {
      const int deep = plan.width[layer], wide = plan.width[layer + 1], breadth = plan.breadth(layer);
      const float* in = inputs_of(layer);
      const float* d = deltas(layer + 1);
      for (int i = thread; i < (deep + 1) * wide; i += threads) {
        const int k = i / wide, column = i % wide;  // k == deep: the bias
        float sum = 0;
        for (int row = 0; row < rows; ++row)
          sum = fmaf(k < deep ? in[row * layout.stride + k] : 1.0F, d[row * layout.stride + column], sum);
        float& gradient =
            work.gradients[k < deep ? plan.matrix_at(layer) + k * breadth + column : bias_at(layer) + column];
        gradient = adds ? gradient + sum : sum;
      }
      if (layer > 0) {
        const float* matrix = work.model.parameters + plan.matrix_at(layer);
        for (int i = thread; i < rows * deep; i += threads) {
          const int row = i / deep, k = i % deep;
          float sum = 0;
          for (int column = 0; column < wide; ++column)
            sum = fmaf(d[row * layout.stride + column], matrix[k * breadth + column], sum);
          deltas(layer)[row * layout.stride + k] = sum * slopes_of(layer)[row * layout.stride + k];
        }
      }
      __syncthreads();
    }
  }

  __device__ float factor_of_gradients() const {
    __shared__ float parts[warps];
    float squares = 0;
    for (int i = thread; i < plan.parameters(); i += threads)
      squares += work.gradients[i] * work.gradients[i];
    return clip_factor(squares, work.model.max_grad_norm, parts);
  }

  __device__ void update_all(std::int64_t number, double rate) const {
    const float factor = work.model.max_grad_norm > 0 ? factor_of_gradients() : 1.0F;
    const UpdateFactors factors(work, step_numbers(work, number, rate));
    for (int i = thread; i < plan.parameters(); i += threads)
      update<false>(plan.optimizer, work.model.parameters[i], work.model.first_moment[i],
                    work.model.second_moment[i], work.gradients[i] * factor, factors);
    __syncthreads();
  }

  __device__ void run() const {
    for (int step = 0; step < work.model.steps; ++step) {
      const std::int32_t* order =
          work.model.order + static_cast<std::int64_t>(step) * work.model.order_stride;
      for (int pass = 0; pass < work.model.passes; ++pass) {
        load_rows(order + pass * rows);
        forward(work.model.first_step + step, pass * rows);
        losses(order + pass * rows, work.model.factors[step].per_row);
        backward(pass > 0);
      }
      update_all(work.model.first_step + step + 1, work.rates[step]);
    }
  }
};

__global__ void __launch_bounds__(threads)
    plain_kernel(Plan plan, const __grid_constant__ PlainModels models) {
  extern __shared__ float floats[];
  const PlainWork& work = models.model[blockIdx.x];
  if (work.model.steps == 0 || *work.model.stopped != 0) return;
  PlainBlock{plan, work, floats}.run();
}

}  // namespace

kernels::LaunchError train_plainly(const Plan& plan, const PlainModels& models, int count,
                                   kernels::Stream stream) {
  const int bytes = PlainLayout::bytes(plan);
  cudaFuncSetAttribute(plain_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  plain_kernel<<<static_cast<unsigned>(count), threads, static_cast<unsigned>(bytes), stream>>>(plan, models);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::fused
