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
  bool is_wide;  // of two halves, not one

  __device__ __forceinline__ ChangedTile(const Layer& of, std::int64_t at, const RowsIn& rows,
                                         const float* all_deltas, int number)
      : layer(&of),
        network(at),
        in(rows),
        deltas(all_deltas + static_cast<std::int64_t>(rows.first) * of.outputs) {
    const int across = (of.inputs + changed_inputs - 1) / changed_inputs;
    output = number / across * changed_outputs;
    input = number % across * changed_inputs;
    is_wide = input + changed_inputs / 2 < of.inputs;
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
__device__ __forceinline__ ChangedTile tile_of_expert(const ExpertWork& work, int number) {
  const int of_expert = changed_tiles_of_expert(work.layout);
  const Group group = work.groups[number / of_expert];
  int left = number % of_expert, layer = 0;
  while (left >= changed_tiles(work.layout.layers[layer])) left -= changed_tiles(work.layout.layers[layer++]);
  return {work.layout.layers[layer], work.layout.expert_at(group.expert),
          entering(work, layer, group.first, group.rows), work.deltas[layer], left};
}

// A lane has outputs 2 (lane / 4) and the next one of its tile; of each, inputs 4 (lane % 4) and the three
// that follow, and those 16 further on.
template <class Format>
struct TileGradient {
  typename Format::Sum sums[4];
  float biases[2] = {};

  __device__ __forceinline__ explicit TileGradient(const ChangedTile& changed) {
    const int group = own_lane() / 4, member = own_lane() % 4;
    const float* deltas = changed.deltas + changed.output + 2 * group;
    const std::int64_t stride = changed.layer->outputs;
#pragma unroll 2
    for (int row = 0; row < changed.in.count; row += 8) {
      const int places[2] = {row + member, row + member + 4};
      typename Format::template Part<4> a;
      typename Format::template Part<2> b[4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float* from = changed.in.at(places[i]);
        const float2 delta = from == nullptr ? float2{0, 0} : two_at(deltas + places[i] * stride);
        a.set(2 * i, delta.x);
        a.set(2 * i + 1, delta.y);
        biases[0] += delta.x;
        biases[1] += delta.y;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const bool is_there = from != nullptr && (half == 0 || changed.is_wide);
          const float2 two = is_there ? two_at(from + changed.input + 16 * half + 2 * group) : float2{0, 0};
          b[2 * half].set(i, two.x);
          b[2 * half + 1].set(i, two.y);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i].add(a, b[i]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      biases[i] += __shfl_xor_sync(~0U, biases[i], 1);
      biases[i] += __shfl_xor_sync(~0U, biases[i], 2);
    }
  }

  __device__ __forceinline__ float4 four(int output, int half) const {
    return make_float4(sums[2 * half][2 * output], sums[2 * half + 1][2 * output],
                       sums[2 * half][2 * output + 1], sums[2 * half + 1][2 * output + 1]);
  }
};

// Calls visit(format, number, tile) for those tiles of all networks that this warp has.
template <class Format, class Visit>
__device__ __forceinline__ void each_changed_tile(const ExpertWork& work, int warps, Visit&& visit) {
  const int routers = changed_tiles_of_router(work.layout);
  const int total = routers + *work.living_count * changed_tiles_of_expert(work.layout);
  for (int number = static_cast<int>(blockIdx.x) * warps + own_warp(); number < total;
       number += static_cast<int>(gridDim.x) * warps) {
    const bool is_router = number < routers;
    const ChangedTile changed =
        is_router ? tile_of_router(work, number) : tile_of_expert(work, number - routers);
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
    const TileGradient<Of> gradient(changed);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float4 four = gradient.four(i / 2, i % 2);  // 0 where there is no second half
      sum += four.x * four.x + four.y * four.y + (four.z * four.z + four.w * four.w);
    }
    if (changed.input == 0 && own_lane() % 4 == 0)
      sum += gradient.biases[0] * gradient.biases[0] + gradient.biases[1] * gradient.biases[1];
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

template <class Format>
struct Change {
  static constexpr int threads = 256;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char*) const {
    const UpdateStep step = work.steps[work.counters->current_step - *work.first_step];
    const float factor = work.max_grad_norm > 0 ? *work.clip_factor : 1.0F;
    each_changed_tile<Format>(work, threads / 32, [&](auto format, int, const ChangedTile& changed) {
      change<decltype(format)>(work, changed, step, factor);
    });
  }

 private:
  struct State {
    float4 value, first, second;

    __device__ __forceinline__ void load(const ExpertWork& work, std::int64_t place) {
      value = four_at(work.parameters + place);
      first = four_at(work.first_moment == nullptr ? nullptr : work.first_moment + place);
      second = four_at(work.second_moment == nullptr ? nullptr : work.second_moment + place);
    }
    __device__ __forceinline__ void store(const ExpertWork& work, std::int64_t place) const {
      *reinterpret_cast<float4*>(work.parameters + place) = value;
      if (work.first_moment != nullptr) *reinterpret_cast<float4*>(work.first_moment + place) = first;
      if (work.second_moment != nullptr) *reinterpret_cast<float4*>(work.second_moment + place) = second;
    }
  };

  __device__ __forceinline__ static void update(const ExpertWork& work, const UpdateStep& step,
                                                float gradient, float& value, float& first, float& second) {
    if (work.optimizer == number::adamw) {
      value *= step.keep;
    } else {
      gradient = fmaf(work.decay, value, gradient);
    }
    if (work.optimizer == number::sgd) {
      first = fmaf(work.beta1, first, gradient);
      value -= step.rate * first;
      return;
    }
    first = fmaf(work.beta1, first, work.take1 * gradient);
    second = fmaf(work.beta2, second, work.take2 * gradient * gradient);
    value -= __fdividef(step.step_size * first, fmaf(quick_root(second), step.inverse_root, work.epsilon));
  }

  template <class Of>
  __device__ __forceinline__ static void change(const ExpertWork& work, const ChangedTile& changed,
                                                const UpdateStep& step, float factor) {
    const Layer& layer = *changed.layer;
    const int output = changed.output + 2 * (own_lane() / 4);
    const std::int64_t first = changed.network + layer.weights +
                               static_cast<std::int64_t>(output) * layer.inputs + changed.input +
                               4 * (own_lane() % 4);
    // Weights and moments only now: what is added up leaves no registers for them, and other warps fill the
    // time that they take to come.
    const TileGradient<Of> gradient(changed);
    State states[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (i % 2 == 0 || changed.is_wide) states[i].load(work, first + i / 2 * layer.inputs + i % 2 * 16);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i % 2 == 1 && !changed.is_wide) continue;
      State& at = states[i];
      const float4 by = gradient.four(i / 2, i % 2);
      update(work, step, factor * by.x, at.value.x, at.first.x, at.second.x);
      update(work, step, factor * by.y, at.value.y, at.first.y, at.second.y);
      update(work, step, factor * by.z, at.value.z, at.first.z, at.second.z);
      update(work, step, factor * by.w, at.value.w, at.first.w, at.second.w);
      at.store(work, first + i / 2 * layer.inputs + i % 2 * 16);
    }
    if (changed.input != 0 || own_lane() % 4 > 1) return;
    const int which = own_lane() % 4;  // two lanes of a group have a bias each
    change_bias(work, changed.network + layer.biases + output + which, step,
                factor * (which == 0 ? gradient.biases[0] : gradient.biases[1]));
  }

  __device__ __forceinline__ static void change_bias(const ExpertWork& work, std::int64_t place,
                                                     const UpdateStep& step, float gradient) {
    float first = work.first_moment == nullptr ? 0.0F : work.first_moment[place];
    float second = work.second_moment == nullptr ? 0.0F : work.second_moment[place];
    update(work, step, gradient, work.parameters[place], first, second);
    if (work.first_moment != nullptr) work.first_moment[place] = first;
    if (work.second_moment != nullptr) work.second_moment[place] = second;
  }
};

}  // namespace stoker::fused::experts
