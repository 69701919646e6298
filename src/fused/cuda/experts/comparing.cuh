#pragma once

#include "fused/cuda/experts/products.cuh"
#include "fused/cuda/experts/sleep_work.h"

// How alike experts are: hidden units of one are paired with those of another, layer by layer, as
// model/experts/expert_likeness.h does on a CPU. A pair of experts is the work of one block.
namespace stoker::fused::experts {

constexpr int comparing_threads = 256;

// Always in the same order. All threads of the block come here, with room for a number of each.
template <int Threads>
__device__ __forceinline__ double sum_over_block(double value, double* sums) {
  const int thread = static_cast<int>(threadIdx.x);
  sums[thread] = value;
  __syncthreads();
  for (int half = Threads / 2; half > 0; half /= 2) {
    if (thread < half) sums[thread] += sums[thread + half];
    __syncthreads();
  }
  const double sum = sums[0];
  __syncthreads();
  return sum;
}

__device__ __forceinline__ float finite_or_zero(float value) {
  return value - value == 0 ? value : 0.0F;
}

// ---- products of 128 by 128, of which a thread has 8 by 8

constexpr int side = 128;
constexpr int slice = 16;  // of the depth, that a block has at a time
constexpr int slice_stride = side + 4;
constexpr int slices_bytes = 2 * slice * slice_stride * static_cast<int>(sizeof(float));

// Rows with their depth one behind the other; those beyond are 0.
struct DeepRows {
  const float* values;
  int stride;
  int count;

  __device__ __forceinline__ void load(int depth, float* to) const {
    const int four = static_cast<int>(threadIdx.x) % 4 * 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = static_cast<int>(threadIdx.x) / 4 + 64 * i;
      const float4 value = row < count
                               ? four_at(values + static_cast<std::int64_t>(row) * stride + depth + four)
                               : make_float4(0, 0, 0, 0);
      to[four * slice_stride + row] = finite_or_zero(value.x);
      to[(four + 1) * slice_stride + row] = finite_or_zero(value.y);
      to[(four + 2) * slice_stride + row] = finite_or_zero(value.z);
      to[(four + 3) * slice_stride + row] = finite_or_zero(value.w);
    }
  }
};

// Signs of what a unit reads, in the order of the units before it.
struct SignsRead {
  const float* signs;
  int inputs;
  const std::int16_t* order;  // null: as they lie

  __device__ __forceinline__ void load(int depth, float* to) const {
    const int own = static_cast<int>(threadIdx.x) / 16, first = static_cast<int>(threadIdx.x) % 16 * 8;
    const int input = depth + own;
    // Behind the inputs there are zeros, whose sign is no matter.
    const int row = input >= inputs ? inputs : order == nullptr ? input : order[input];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      to[own * slice_stride + first + i] =
          first + i < most_sums ? signs[static_cast<std::int64_t>(row) * most_sums + first + i] : 0.0F;
  }
};

// Calls store(row, column, four sums) for all of the 128 by 128. All threads of the block come here.
template <class Left, class Right, class Store>
__device__ __forceinline__ void block_product(const Left& left, const Right& right, int depth, float* memory,
                                              Store&& store) {
  float* const lefts = memory;
  float* const rights = memory + slice * slice_stride;
  const int row = static_cast<int>(threadIdx.x) / 16 * 4, column = static_cast<int>(threadIdx.x) % 16 * 4;
  float sums[8][8] = {};
  for (int at = 0; at < depth; at += slice) {
    __syncthreads();
    left.load(at, lefts);
    right.load(at, rights);
    __syncthreads();
#pragma unroll 4
    for (int i = 0; i < slice; ++i) {
      const float4 a = four_at(lefts + i * slice_stride + row);
      const float4 b = four_at(lefts + i * slice_stride + row + 64);
      const float4 c = four_at(rights + i * slice_stride + column);
      const float4 d = four_at(rights + i * slice_stride + column + 64);
      const float one[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
      const float other[8] = {c.x, c.y, c.z, c.w, d.x, d.y, d.z, d.w};
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int s = 0; s < 8; ++s) sums[r][s] += one[r] * other[s];
    }
  }
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      store(row + r % 4 + r / 4 * 64, column + 64 * half,
            make_float4(sums[r][4 * half], sums[r][4 * half + 1], sums[r][4 * half + 2],
                        sums[r][4 * half + 3]));
  __syncthreads();
}

// ---- what units read

// How the inputs of a layer are ordered: `places` has, for each input as it lies, where it comes, and
// `sources` the reverse. Null: as they lie.
struct InputOrder {
  const std::int16_t* places = nullptr;
  const std::int32_t* sources = nullptr;
};

// Up to 128 units from `first` on, each a row of length 1, or 0.
__device__ __forceinline__ void make_units(const SleepWork& work, int expert, int layer, int first,
                                           const InputOrder& order, float* to, float* memory) {
  const Layer& of = work.layout.layers[layer];
  const ComparedLayer& compared = work.compared[layer];
  const float* network = work.state[0] + work.layout.expert_at(expert);
  const float* weights = network + of.weights + static_cast<std::int64_t>(first) * of.inputs;
  const float* biases = network + of.biases + first;
  const int count = of.width - first < side ? of.width - first : side;
  to += static_cast<std::int64_t>(first) * compared.stride;
  const int lane = own_lane();
  if (compared.signs != nullptr) {
    const float* of_bias = compared.signs + static_cast<std::int64_t>(of.depth) * most_sums;
    block_product(
        DeepRows{weights, of.inputs, count}, SignsRead{compared.signs, of.depth, order.places}, of.inputs,
        memory, [&](int row, int column, const float4& sum) {
          if (row >= count || column >= most_sums) return;
          const float bias = finite_or_zero(biases[row]);
          const float4 sign = four_at(of_bias + column);
          *reinterpret_cast<float4*>(to + static_cast<std::int64_t>(row) * compared.stride + column) =
              make_float4(sum.x + bias * sign.x, sum.y + bias * sign.y, sum.z + bias * sign.z,
                          sum.w + bias * sign.w);
        });
  } else {
    for (int row = own_warp(); row < count; row += comparing_threads / 32)
      for (int i = lane; i < compared.stride; i += 32) {
        float value = i == of.depth ? biases[row] : 0.0F;
        if (i < of.depth)
          value = weights[static_cast<std::int64_t>(row) * of.inputs +
                          (order.sources == nullptr ? i : order.sources[i])];
        to[static_cast<std::int64_t>(row) * compared.stride + i] = finite_or_zero(value);
      }
    __syncthreads();
  }
  for (int row = own_warp(); row < count; row += comparing_threads / 32) {
    float* values = to + static_cast<std::int64_t>(row) * compared.stride;
    float squares = 0;
    for (int i = lane; i < compared.stride; i += 32) squares += values[i] * values[i];
    for (int away = 16; away > 0; away /= 2) squares += __shfl_xor_sync(~0U, squares, away);
    const float scale = squares > 0 ? 1.0F / sqrtf(squares) : 0.0F;
    for (int i = lane; i < compared.stride; i += 32) values[i] *= scale;
  }
  __syncthreads();
}

__device__ __forceinline__ int unit_tiles(const Layer& layer) {
  return (layer.width + side - 1) / side;
}

// Of all that live, with their inputs as they lie.
struct UnitRows {
  static constexpr int threads = comparing_threads;
  static constexpr int bytes = slices_bytes;

  __device__ __forceinline__ void operator()(const SleepWork& work, char* memory) const {
    const Layout& layout = work.layout;
    const int hidden = layout.layer_count - 1;
    int tiles = 0;
    for (int i = 0; i < hidden; ++i) tiles += unit_tiles(layout.layers[i]);
    const int items = work.living[layout.room] * tiles;
    for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
      const int expert = work.living[item / tiles];
      int layer = 0, number = item % tiles;
      for (; number >= unit_tiles(layout.layers[layer]); ++layer) number -= unit_tiles(layout.layers[layer]);
      make_units(work, expert, layer, number * side, {},
                 work.units + expert * work.units_size + work.compared[layer].at,
                 reinterpret_cast<float*>(memory));
    }
  }
};

// ---- pairs of units

// Pairs of units that choose each other, again and again among those that are left: the same pairs as where
// the most alike ones are taken one after the other (model/experts/unit_matching.h).
struct UnitMatching {
  const float* likeness;
  int stride;
  int units;
  // By units of the one and of the other: whom each likes best, and with whom it is paired; -1: nobody.
  std::int16_t* liked_by_one;
  std::int16_t* liked_by_other;
  std::int16_t* of_one;
  std::int16_t* of_other;
  unsigned* pairs;

  static constexpr int bytes = 2 * most_units * 2 + 16;  // that are kept
  static_assert(2 * most_units * 2 <= slices_bytes, "whom each likes lies where a product has its slices");

  __device__ __forceinline__ UnitMatching(const float* values, int columns, int count, char* passing,
                                          char* kept)
      : likeness(values), stride(columns), units(count) {
    liked_by_one = reinterpret_cast<std::int16_t*>(passing);
    liked_by_other = liked_by_one + most_units;
    of_one = reinterpret_cast<std::int16_t*>(kept);
    of_other = of_one + most_units;
    pairs = reinterpret_cast<unsigned*>(kept + 2 * most_units * 2);
  }

  __device__ __forceinline__ void run() const {
    const int thread = static_cast<int>(threadIdx.x);
    for (int i = thread; i < units; i += comparing_threads)
      liked_by_one[i] = liked_by_other[i] = of_one[i] = of_other[i] = -1;
    if (thread == 0) *pairs = 0;
    __syncthreads();
    for (bool is_first = true;; is_first = false) {
      for (int one = own_warp(); one < units; one += comparing_threads / 32)
        if (of_one[one] < 0 && is_gone(liked_by_one[one], of_other))
          choose(likeness + static_cast<std::int64_t>(one) * stride, 1, of_other, liked_by_one + one);
      if (is_first) {
        for (int other = thread; other < units; other += comparing_threads) choose_of_all(other);
      } else {
        for (int other = own_warp(); other < units; other += comparing_threads / 32)
          if (of_other[other] < 0 && is_gone(liked_by_other[other], of_one))
            choose(likeness + other, stride, of_one, liked_by_other + other);
      }
      __syncthreads();
      for (int one = thread; one < units; one += comparing_threads) {
        if (of_one[one] >= 0) continue;
        const int other = liked_by_one[one];
        if (liked_by_other[other] != one) continue;
        of_one[one] = static_cast<std::int16_t>(other);
        of_other[other] = static_cast<std::int16_t>(one);
        atomicAdd(pairs, 1U);
      }
      __syncthreads();
      const bool is_done = *pairs == static_cast<unsigned>(units);
      __syncthreads();
      if (is_done) return;
    }
  }

 private:
  __device__ __forceinline__ static bool is_gone(int liked, const std::int16_t* of) {
    return liked < 0 || of[liked] >= 0;
  }
  // What is not a number is liked least.
  __device__ __forceinline__ static float held(float found) { return found == found ? found : -INFINITY; }

  // The best of those that are left, a warp for one unit.
  __device__ __forceinline__ void choose(const float* values, int step, const std::int16_t* taken,
                                         std::int16_t* liked) const {
    float best = -INFINITY;
    int who = most_units;
#pragma unroll 8
    for (int i = own_lane(); i < units; i += 32) {
      const float found = held(values[static_cast<std::int64_t>(i) * step]);
      if (taken[i] >= 0 || found < best || (found == best && who < i)) continue;
      best = found;
      who = i;
    }
    for (int away = 16; away > 0; away /= 2) {
      const float found = __shfl_xor_sync(~0U, best, away);
      const int finder = __shfl_xor_sync(~0U, who, away);
      if (found > best || (found == best && finder < who)) {
        best = found;
        who = finder;
      }
    }
    __syncwarp();  // all lanes have read whom it liked before
    if (own_lane() == 0) *liked = static_cast<std::int16_t>(who);
  }

  // The same where nobody is taken yet, a thread for one of the other's units: neighbouring threads read a
  // row together.
  __device__ __forceinline__ void choose_of_all(int other) const {
    float best = -INFINITY;
    int who = 0;
#pragma unroll 16
    for (int one = 0; one < units; ++one) {
      const float found = held(likeness[static_cast<std::int64_t>(one) * stride + other]);
      if (found > best) {
        best = found;
        who = one;
      }
    }
    liked_by_other[other] = static_cast<std::int16_t>(who);
  }
};

}  // namespace stoker::fused::experts
