#pragma once

#include <type_traits>

#include "fused/cuda/experts/routing.cuh"
#include "fused/cuda/plan.h"

// Gradients of weights, straight into their updates: a warp has a tile of a layer, adds up its gradient over
// the rows and changes its weights, and nobody stores a gradient. Where gradients are shortened, they are
// computed once before for their norm alone: cheaper than writing them down, since rows and deltas lie in the
// cache and weights do not. Experts that live and have no row are changed as well: their moments go on.
namespace stoker::fused::experts {

struct ChangedTile {
  const Layer* layer;
  std::int64_t network;  // where it begins
  RowsIn in;
  const float* deltas;  // of its first row
  int output;           // the tile's first
  int input;
  int end;  // behind its last input

  __device__ __forceinline__ ChangedTile(const Layer& of, std::int64_t at, const RowsIn& rows,
                                         const float* all_deltas, int number)
      : layer(&of),
        network(at),
        in(rows),
        deltas(all_deltas + static_cast<std::int64_t>(rows.first) * of.outputs) {
    const int across = (of.inputs + changed_inputs - 1) / changed_inputs;
    output = number / across * changed_outputs;
    input = number % across * changed_inputs;
    end = input + changed_inputs < of.inputs ? input + changed_inputs : of.inputs;
  }
};

__device__ __forceinline__ ChangedTile tile_of_router(const ExpertWork& work, int number) {
  const Layer* layers = work.layout.router;
  const int rows = rows_of(work), of_first = changed_tiles(layers[0]);
  if (number < of_first)
    return {layers[0], 0, {work.features, layers[0].inputs, nullptr, 0, rows}, work.inner_deltas, number};
  return {
      layers[1], 0, {work.inner, layers[1].inputs, nullptr, 0, rows}, work.score_deltas, number - of_first};
}
__device__ __forceinline__ ChangedTile tile_of_expert(const ExpertWork& work, int of_expert, int number) {
  const Group group = work.groups[number / of_expert];
  int left = number % of_expert, layer = 0;
  while (left >= changed_tiles(work.layout.layers[layer])) left -= changed_tiles(work.layout.layers[layer++]);
  return {work.layout.layers[layer], work.layout.expert_at(group.expert),
          entering(work, layer, group.first, group.rows), work.deltas[layer], left};
}

// The gradient of 32 inputs of a tile. A lane has inputs 4 (lane / 4) and the three that follow of outputs
// 2 (lane % 4) and the next one, so that a warp reads and writes whole lines of the memory.
template <class Format>
struct TileGradient {
  typename Format::Sum sums[2];

  __device__ __forceinline__ TileGradient(const ChangedTile& changed, int column) {
    const int group = own_lane() / 4, member = own_lane() % 4, last = changed.in.count - 1;
    const float* deltas = changed.deltas + changed.output + group;
    const std::int64_t stride = changed.layer->outputs;
#pragma unroll 2
    for (int row = 0; row < changed.in.count; row += 8) {
      typename Format::template Part<4> a[2];
      typename Format::template Part<2> b;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int place = row + member + 4 * i;
        const float4 values = four_at(changed.in.at(place) + column);
        const float delta = deltas[(place < last ? place : last) * stride];
        a[0].set(2 * i, values.x);
        a[0].set(2 * i + 1, values.y);
        a[1].set(2 * i, values.z);
        a[1].set(2 * i + 1, values.w);
        b.set(i, place > last ? 0.0F : delta);
      }
      sums[0].add(a[0], b);
      sums[1].add(a[1], b);
    }
  }

  __device__ __forceinline__ float4 of_output(int i) const {
    return make_float4(sums[0][i], sums[0][2 + i], sums[1][i], sums[1][2 + i]);
  }
};

// Of the bias of output lane / 4.
__device__ __forceinline__ float gradient_of_bias(const ChangedTile& changed) {
  const float* deltas = changed.deltas + changed.output + own_lane() / 4;
  float sum = 0;
#pragma unroll 4
  for (int row = own_lane() % 4; row < changed.in.count; row += 4)
    sum += deltas[static_cast<std::int64_t>(row) * changed.layer->outputs];
  sum += __shfl_xor_sync(~0U, sum, 1);
  return sum + __shfl_xor_sync(~0U, sum, 2);
}

// Calls visit(column, is_there) for every 32 inputs of a tile: the column that this lane's four begin with,
// which may be beyond the last; then it is one that is there.
template <class Visit>
__device__ __forceinline__ void each_column(const ChangedTile& changed, Visit&& visit) {
#pragma unroll 1
  for (int input = changed.input; input < changed.end; input += 32) {
    const int column = input + 4 * (own_lane() / 4);
    const bool is_there = column < changed.end;
    visit(is_there ? column : input, is_there);
  }
}

// Calls visit(format, number, tile) for those tiles of all networks that this warp has.
template <class Format, class Visit>
__device__ __forceinline__ void each_changed_tile(const ExpertWork& work, int warps, Visit&& visit) {
  const int routers = changed_tiles_of_router(work.layout), of_expert = changed_tiles_of_expert(work.layout);
  const int total = routers + *work.living_count * of_expert;
  // Those of the router take longest: they come first, and neighbours go to different processors.
  for (int number = own_warp() * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x); number < total;
       number += static_cast<int>(gridDim.x) * warps) {
    const bool is_router = number < routers;
    const ChangedTile changed =
        is_router ? tile_of_router(work, number) : tile_of_expert(work, of_expert, number - routers);
    if (std::is_same_v<Format, Fp32> || !is_router) {
      visit(Format{}, number, changed);
    } else {
      visit(Fp32{}, number, changed);
    }
  }
}

// The squares of all gradients, a sum for each tile.
template <class Format>
struct Norms {
  static constexpr int threads = 256;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char*) const {
    each_changed_tile<Format>(work, threads / 32, [&](auto format, int number, const ChangedTile& changed) {
      put<decltype(format)>(work, number, changed);
    });
  }

 private:
  template <class Of>
  __device__ __forceinline__ static void put(const ExpertWork& work, int number, const ChangedTile& changed) {
    float sum = 0;
    each_column(changed, [&](int column, bool is_there) {
      const TileGradient<Of> gradient(changed, column);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float4 four = gradient.of_output(i);
        const float squares = four.x * four.x + four.y * four.y + (four.z * four.z + four.w * four.w);
        sum += is_there ? squares : 0.0F;
      }
    });
    if (changed.input == 0) {
      const float bias = gradient_of_bias(changed);
      if (own_lane() % 4 == 0) sum += bias * bias;
    }
    sum = sum_over_warp(sum);
    if (own_lane() == 0) work.squares[number] = sum;
  }
};

// As torch.nn.utils.clip_grad_norm_. One block.
struct Clip {
  static constexpr int threads = 1024;
  static constexpr int bytes = threads * 8;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char* memory) const {
    auto* sums = reinterpret_cast<double*>(memory);
    const int thread = static_cast<int>(threadIdx.x);
    const int total =
        changed_tiles_of_router(work.layout) + *work.living_count * changed_tiles_of_expert(work.layout);
    double sum = 0;
    for (int i = thread; i < total; i += threads) sum += static_cast<double>(work.squares[i]);
    sums[thread] = sum;
    __syncthreads();
    for (int half = threads / 2; half > 0; half /= 2) {
      if (thread < half) sums[thread] += sums[thread + half];
      __syncthreads();
    }
    if (thread != 0) return;
    const double norm = sqrt(sums[0]);
    *work.norm_sum += norm;
    const auto factor = static_cast<float>(static_cast<double>(work.max_grad_norm) / (norm + 1e-6));
    *work.clip_factor = factor > 1 ? 1.0F : factor;  // a NaN stays
  }
};

// What an update takes besides its gradient.
struct UpdateFactors {
  float of_gradient, keep, decay, beta1, take1, beta2, take2, step_size, inverse_root, epsilon, rate;

  __device__ __forceinline__ explicit UpdateFactors(const ExpertWork& work) {
    const UpdateStep step = work.steps[work.counters->current_step - *work.first_step];
    of_gradient = work.max_grad_norm > 0 ? *work.clip_factor : 1.0F;
    keep = work.optimizer == number::adamw ? step.keep : 1.0F;
    decay = work.decay;
    beta1 = work.beta1;
    take1 = work.take1;
    beta2 = work.beta2;
    take2 = work.take2;
    step_size = step.step_size;
    inverse_root = step.inverse_root;
    epsilon = work.epsilon;
    rate = step.rate;
  }

  __device__ __forceinline__ void adam(float gradient, float& value, float& first, float& second) const {
    value *= keep;
    gradient = fmaf(decay, value, of_gradient * gradient);
    first = fmaf(beta1, first, take1 * gradient);
    second = fmaf(beta2, second, take2 * gradient * gradient);
    value -= step_size * first * flushed_inverse(fmaf(flushed_root(second), inverse_root, epsilon));
  }
  __device__ __forceinline__ void sgd(float gradient, float& value, float& first) const {
    first = fmaf(beta1, first, fmaf(decay, value, of_gradient * gradient));
    value -= rate * first;
  }
};

// Four neighbours with their moments, which nobody reads again before the next step: what the caches keep are
// the weights.
template <bool is_adaptive>
struct Changing {
  float4 value, first, second;

  __device__ __forceinline__ void load(const ExpertWork& work, std::int64_t place) {
    value = four_at(work.parameters + place);
    first = is_adaptive || work.first_moment != nullptr
                ? __ldcs(reinterpret_cast<const float4*>(work.first_moment + place))
                : make_float4(0, 0, 0, 0);
    if (is_adaptive) second = __ldcs(reinterpret_cast<const float4*>(work.second_moment + place));
  }
  __device__ __forceinline__ void store(const ExpertWork& work, std::int64_t place) const {
    *reinterpret_cast<float4*>(work.parameters + place) = value;
    if (is_adaptive || work.first_moment != nullptr)
      __stcs(reinterpret_cast<float4*>(work.first_moment + place), first);
    if (is_adaptive) __stcs(reinterpret_cast<float4*>(work.second_moment + place), second);
  }
  __device__ __forceinline__ void change(const UpdateFactors& by, const float4& gradient) {
    if (is_adaptive) {
      by.adam(gradient.x, value.x, first.x, second.x);
      by.adam(gradient.y, value.y, first.y, second.y);
      by.adam(gradient.z, value.z, first.z, second.z);
      by.adam(gradient.w, value.w, first.w, second.w);
    } else {
      by.sgd(gradient.x, value.x, first.x);
      by.sgd(gradient.y, value.y, first.y);
      by.sgd(gradient.z, value.z, first.z);
      by.sgd(gradient.w, value.w, first.w);
    }
  }
};

// Adam with or without decoupled decay, or gradient descent.
template <class Format, bool is_adaptive>
struct Change {
  static constexpr int threads = 256;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char*) const {
    const UpdateFactors by(work);
    each_changed_tile<Format>(work, threads / 32, [&](auto format, int, const ChangedTile& changed) {
      change<decltype(format)>(work, changed, by);
    });
  }

 private:
  template <class Of>
  __device__ __forceinline__ static void change(const ExpertWork& work, const ChangedTile& changed,
                                                const UpdateFactors& by) {
    const Layer& layer = *changed.layer;
    const int output = changed.output + 2 * (own_lane() % 4);
    const std::int64_t of_row =
        changed.network + layer.weights + static_cast<std::int64_t>(output) * layer.inputs;
    each_column(changed, [&](int column, bool is_there) {
      const std::int64_t place = of_row + column;
      // They are on their way while the gradient is added up.
      Changing<is_adaptive> one, other;
      one.load(work, place);
      other.load(work, place + layer.inputs);
      const TileGradient<Of> gradient(changed, column);
      one.change(by, gradient.of_output(0));
      other.change(by, gradient.of_output(1));
      if (!is_there) return;
      one.store(work, place);
      other.store(work, place + layer.inputs);
    });
    if (changed.input == 0) change_bias(work, changed, by);
  }

  __device__ __forceinline__ static void change_bias(const ExpertWork& work, const ChangedTile& changed,
                                                     const UpdateFactors& by) {
    const float gradient = gradient_of_bias(changed);
    if (own_lane() % 4 != 0) return;
    const std::int64_t place = changed.network + changed.layer->biases + changed.output + own_lane() / 4;
    float first = work.first_moment == nullptr ? 0.0F : work.first_moment[place];
    if (is_adaptive) {
      by.adam(gradient, work.parameters[place], first, work.second_moment[place]);
    } else {
      by.sgd(gradient, work.parameters[place], first);
    }
    if (work.first_moment != nullptr) work.first_moment[place] = first;
  }
};

}  // namespace stoker::fused::experts
