#include <cuda_runtime.h>

#include "base/random.h"
#include "fused/cuda/fp32/plain.h"
#include "fused/cuda/fp32/plain_layout.h"
#include "fused/cuda/fp32/plain_math.cuh"

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
      float* outputs = deltas(plan.layers) + thread * layout.stride;
      const float factor = target.weight * per_row;
      float loss = 0;
      if (plan.loss == number::cross_entropy) {
        const int classes = plan.width[plan.layers], wanted = static_cast<int>(target.target);
        float most = outputs[0], sum = 0;
        for (int i = 1; i < classes; ++i) most = fmaxf(most, outputs[i]);
        for (int i = 0; i < classes; ++i) sum += expf(outputs[i] - most);
        loss = logf(sum) - (outputs[wanted] - most);
        for (int i = 0; i < classes; ++i)
          outputs[i] = (expf(outputs[i] - most) / sum - (i == wanted ? 1.0F : 0.0F)) * factor;
      } else {
        const RowLoss one = scalar_loss(plan.loss, outputs[0], target.target, work.model.loss_shape);
        loss = one.loss;
        outputs[0] = one.slope * factor;
      }
      work.model.row_sums[thread] += static_cast<double>(loss) * target.weight;
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

  __device__ float clip_factor() const {
    __shared__ float parts[warps];
    float squares = 0;
    for (int i = thread; i < plan.parameters(); i += threads)
      squares += work.gradients[i] * work.gradients[i];
    for (int away = 16; away > 0; away /= 2) squares += __shfl_xor_sync(~0U, squares, away);
    if (thread % 32 == 0) parts[thread / 32] = squares;
    __syncthreads();
    float total = 0;
    for (int i = 0; i < warps; ++i) total += parts[i];
    __syncthreads();
    return fminf(1.0F, work.model.max_grad_norm / (sqrtf(total) + 1e-6F));
  }

  // As PyTorch's optimisers compute it.
  __device__ void update_all(std::int64_t number, double rate) const {
    const float factor = work.model.max_grad_norm > 0 ? clip_factor() : 1.0F;
    const double first = 1.0 - pow(work.beta1, static_cast<double>(number));
    const double second = 1.0 - pow(work.beta2, static_cast<double>(number));
    const auto step_size = static_cast<float>(rate / first);
    const auto root = static_cast<float>(sqrt(second));
    const auto decay = static_cast<float>(work.weight_decay);
    const auto beta1 = static_cast<float>(work.beta1), beta2 = static_cast<float>(work.beta2);
    for (int i = thread; i < plan.parameters(); i += threads) {
      float& w = work.model.parameters[i];
      float& m = work.model.first_moment[i];
      float gradient = work.gradients[i] * factor;
      if (plan.optimizer == number::adamw) {
        w *= static_cast<float>(1.0 - rate * work.weight_decay);
      } else {
        gradient = fmaf(decay, w, gradient);
      }
      if (plan.optimizer == number::sgd) {
        m = fmaf(beta1, m, gradient);
        w -= static_cast<float>(rate) * m;
        continue;
      }
      float& v = work.model.second_moment[i];
      m = fmaf(beta1, m, (1.0F - beta1) * gradient);
      v = fmaf(beta2, v, (1.0F - beta2) * gradient * gradient);
      w -= step_size * m / (sqrtf(v) / root + static_cast<float>(work.epsilon));
    }
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
