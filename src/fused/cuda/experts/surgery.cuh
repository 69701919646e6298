#pragma once

#include "fused/cuda/experts/products.cuh"
#include "fused/cuda/experts/sleep_work.h"

// Births, merges and removals where the experts lie, as model/experts/expert_surgery.h does them on a CPU.
namespace stoker::fused::experts {

constexpr int surgery_threads = 256;

__device__ __forceinline__ std::int64_t first_of_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * surgery_threads + static_cast<int>(threadIdx.x);
}
__device__ __forceinline__ std::int64_t threads_of_all() {
  return static_cast<std::int64_t>(gridDim.x) * surgery_threads;
}

// Where a number of an expert's network belongs.
struct ExpertNumber {
  int layer = 0;
  bool is_bias = false;
  int out = 0;
  int in = 0;

  // Of the place `at` in the network.
  __device__ __forceinline__ ExpertNumber(const Layout& layout, std::int64_t at) {
    while (layer + 1 < layout.layer_count && at >= layout.layers[layer + 1].weights) ++layer;
    const Layer& of = layout.layers[layer];
    is_bias = at >= of.biases;
    out = static_cast<int>(is_bias ? at - of.biases : (at - of.weights) / of.inputs);
    in = static_cast<int>(is_bias ? 0 : (at - of.weights) % of.inputs);
  }
  // It is not one of those that fill up a tile.
  __device__ __forceinline__ bool is_there(const Layout& layout) const {
    return out < layout.layers[layer].width && (is_bias || in < layout.layers[layer].depth);
  }
};

__device__ __forceinline__ std::int64_t router_row(const Layout& layout, int place) {
  return layout.router[1].weights + static_cast<std::int64_t>(place) * layout.router[1].inputs;
}

// All of an expert becomes 0.
struct ClearExpert {
  int place;
  static constexpr int threads = surgery_threads;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const SleepWork& work, char*) const {
    const Layout& layout = work.layout;
    for (float* values : work.state) {
      if (values == nullptr) continue;
      for (std::int64_t i = first_of_thread(); i < layout.expert_size; i += threads_of_all())
        values[layout.expert_at(place) + i] = 0;
      for (std::int64_t i = first_of_thread(); i < layout.router[1].inputs; i += threads_of_all())
        values[router_row(layout, place) + i] = 0;
      if (first_of_thread() == 0) values[layout.router[1].biases + place] = 0;
    }
    float* values = work.state[0];
    for (std::int64_t i = first_of_thread(); i < layout.room; i += threads_of_all()) {
      values[layout.followers + static_cast<std::int64_t>(place) * layout.room + i] = 0;
      values[layout.followers + i * layout.room + place] = 0;
    }
    if (first_of_thread() != 0) return;
    values[layout.alive + place] = 0;
    values[layout.activations + place] = 0;
    values[layout.idle_steps + place] = 0;
  }
};

// Of the weights and of the biases of each layer, and of the router's row.
struct Deviations {
  int place;
  static constexpr int threads = surgery_threads;
  static constexpr int bytes = threads * 8;

  __device__ __forceinline__ void operator()(const SleepWork& work, char* memory) const {
    auto* sums = reinterpret_cast<double*>(memory);
    const Layout& layout = work.layout;
    const int arrays = 2 * layout.layer_count + 1, thread = static_cast<int>(threadIdx.x);
    for (int array = static_cast<int>(blockIdx.x); array < arrays; array += static_cast<int>(gridDim.x)) {
      const Layer& of = array + 1 == arrays ? layout.router[1] : layout.layers[array / 2];
      const float* values = work.state[0] + (array + 1 == arrays ? router_row(layout, place)
                                             : array % 2 == 0    ? layout.expert_at(place) + of.weights
                                                                 : layout.expert_at(place) + of.biases);
      const int size = array + 1 == arrays ? of.inputs : array % 2 == 0 ? of.inputs * of.outputs : of.outputs;
      const int count = array + 1 == arrays ? of.depth : array % 2 == 0 ? of.depth * of.width : of.width;
      double sum = 0;
      for (int i = thread; i < size; i += threads)
        sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
      sums[thread] = sum;
      __syncthreads();
      for (int half = threads / 2; half > 0; half /= 2) {
        if (thread < half) sums[thread] += sums[thread + half];
        __syncthreads();
      }
      if (thread == 0) work.deviations[array] = sqrt(sums[0] / static_cast<double>(count));
      __syncthreads();
    }
  }
};

// A copy with a little noise, in the order in which the host draws it; moments are 0.
struct CopyExpert {
  int parent;
  int place;
  RandomKey noise;
  double of_weights;
  double of_router;
  static constexpr int threads = surgery_threads;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const SleepWork& work, char*) const {
    const Layout& layout = work.layout;
    const std::int64_t from = layout.expert_at(parent), to = layout.expert_at(place);
    float* values = work.state[0];
    for (std::int64_t i = first_of_thread(); i < layout.expert_size; i += threads_of_all()) {
      const ExpertNumber number(layout, i);
      if (!number.is_there(layout)) continue;
      const Layer& of = layout.layers[number.layer];
      const std::int64_t drawn =
          drawn_before(layout, number.layer) +
          (number.is_bias ? static_cast<std::int64_t>(of.depth) * of.width + number.out
                          : static_cast<std::int64_t>(number.out) * of.depth + number.in);
      values[to + i] = noisy(
          values[from + i], of_weights * work.deviations[2 * number.layer + (number.is_bias ? 1 : 0)], drawn);
    }
    const Layer& outer = layout.router[1];
    const std::int64_t drawn = drawn_before(layout, layout.layer_count);
    for (std::int64_t i = first_of_thread(); i < outer.depth; i += threads_of_all())
      values[router_row(layout, place) + i] =
          noisy(values[router_row(layout, parent) + i], of_router * work.deviations[2 * layout.layer_count],
                drawn + i);
    if (first_of_thread() != 0) return;
    values[outer.biases + place] = values[outer.biases + parent];
    values[layout.alive + place] = 1;
  }

 private:
  __device__ __forceinline__ static std::int64_t drawn_before(const Layout& layout, int layer) {
    std::int64_t sum = 0;
    for (int i = 0; i < layer; ++i)
      sum += (static_cast<std::int64_t>(layout.layers[i].depth) + 1) * layout.layers[i].width;
    return sum;
  }
  __device__ __forceinline__ float noisy(float value, double deviation, std::int64_t drawn) const {
    return value + static_cast<float>(deviation * normal(noise, static_cast<std::uint32_t>(drawn)));
  }
};

// What the router likes of one goes to another, in that share.
struct MixRouter {
  int into;
  int from;
  float share;
  static constexpr int threads = surgery_threads;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const SleepWork& work, char*) const {
    const Layer& outer = work.layout.router[1];
    for (float* values : work.state) {
      if (values == nullptr) continue;
      const auto mix = [&](std::int64_t to, std::int64_t other) {
        values[to] = (1 - share) * values[to] + share * values[other];
      };
      for (std::int64_t i = first_of_thread(); i < outer.depth; i += threads_of_all())
        mix(router_row(work.layout, into) + i, router_row(work.layout, from) + i);
      if (first_of_thread() == 0) mix(outer.biases + into, outer.biases + from);
    }
  }
};

// The mean of two, with the other's units in the order that the first block has found.
struct MergeExperts {
  int kept;
  int gone;
  float share;
  static constexpr int threads = surgery_threads;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const SleepWork& work, char*) const {
    const Layout& layout = work.layout;
    for (std::int64_t i = first_of_thread(); i < layout.expert_size; i += threads_of_all()) {
      const ExpertNumber number(layout, i);
      if (!number.is_there(layout)) continue;
      const Layer& of = layout.layers[number.layer];
      const int out = unit(work, number.layer, number.out);
      const int in = number.layer == 0 ? number.in : unit(work, number.layer - 1, number.in);
      const std::int64_t from =
          layout.expert_at(gone) +
          (number.is_bias ? of.biases + out : of.weights + static_cast<std::int64_t>(out) * of.inputs + in);
      for (float* values : work.state) {
        if (values == nullptr) continue;
        float& value = values[layout.expert_at(kept) + i];
        value = share * value + (1 - share) * values[from];
      }
    }
  }

 private:
  __device__ __forceinline__ static int unit(const SleepWork& work, int layer, int number) {
    return layer + 1 < work.layout.layer_count ? work.orders[work.compared[layer].order_at + number] : number;
  }
};

// Who lives, in their order. One warp.
struct ListLiving {
  static constexpr int threads = 32;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const SleepWork& work, char*) const {
    const int room = work.layout.room, lane = own_lane();
    int count = 0;
    for (int base = 0; base < room; base += 32) {
      const int place = base + lane;
      const bool lives = place < room && work.state[0][work.layout.alive + place] != 0;
      const unsigned those = __ballot_sync(~0U, lives);
      if (lives) work.living[count + __popc(those & ((1U << lane) - 1U))] = place;
      count += __popc(those);
    }
    if (lane == 0) work.living[room] = count;
  }
};

}  // namespace stoker::fused::experts
