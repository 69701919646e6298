#pragma once

#include "fused/cuda/experts/formats.cuh"
#include "fused/cuda/experts/work.h"

// Products of a layer's weights with the rows of a batch, some at a time. The weights are the left operand,
// so that eight rows fill a tile: where there are many experts, each has few. A block has 16 features of up
// to 32 rows, each of its warps a share of the depth; operands come straight from the cache, since nobody
// else in the block wants them.
namespace stoker::fused::experts {

constexpr int product_warps = 8;
constexpr int product_threads = 32 * product_warps;
constexpr int sum_stride = 20;  // of a row of sums: no two lanes of a warp write to one bank
constexpr int product_bytes = product_warps * rows_of_tile * sum_stride * static_cast<int>(sizeof(float));
constexpr int row_groups = rows_of_tile / 8;

__device__ __forceinline__ int own_lane() {
  return static_cast<int>(threadIdx.x) % 32;
}
__device__ __forceinline__ int own_warp() {
  return static_cast<int>(threadIdx.x) / 32;
}

// Rows that lie one behind the other, or where `sources` says.
struct RowsIn {
  const float* values;
  int stride;
  const std::int32_t* sources;  // null: as they lie
  int first;
  int count;

  // The last one for what is behind it: a branch around a load would keep others from being under way at the
  // same time. There is at least one.
  __device__ __forceinline__ const float* at(int i) const {
    const int held = first + (i < count ? i : count - 1);
    const std::int64_t row = sources == nullptr ? held : sources[held];
    return values + row * stride;
  }
};

__device__ __forceinline__ float4 four_at(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}
__device__ __forceinline__ float2 two_at(const float* from) {
  return *reinterpret_cast<const float2*>(from);
}

// Of up to eight rows for each of its groups. What lies behind the last row is computed and not looked at.
template <class Format, int groups>
struct TileProduct {
  static constexpr int at_once = groups == 1 ? 4 : 2;  // pieces of the depth that are on their way

  typename Format::Sum sums[groups];
  const float* rows[groups];  // of this lane
  int lane = own_lane();
  int warp = own_warp();

  // Which of the depth a lane has is free as long as both operands agree: of every 16, lane % 4 has four
  // neighbours.
  __device__ __forceinline__ explicit TileProduct(const RowsIn& in) {
#pragma unroll
    for (int i = 0; i < groups; ++i) rows[i] = in.at(8 * i + lane / 4) + 4 * (lane % 4);
  }

  __device__ __forceinline__ void load(int depth, float4 (&fours)[groups]) const {
#pragma unroll
    for (int i = 0; i < groups; ++i) fours[i] = four_at(rows[i] + depth);
  }
  __device__ __forceinline__ void add(const typename Format::template Part<4> (&a)[2],
                                      const float4 (&fours)[groups]) {
#pragma unroll
    for (int i = 0; i < groups; ++i) {
      typename Format::template Part<2> b;
      b.set(0, fours[i].x);
      b.set(1, fours[i].y);
      sums[i].add(a[0], b);
      b.set(0, fours[i].z);
      b.set(1, fours[i].w);
      sums[i].add(a[1], b);
    }
  }

  // With weights [16, inputs]: the sums' features are lane / 4 and that + 8.
  __device__ __forceinline__ void forward(const float* weights, int inputs) {
    const float* upper = weights + lane / 4 * inputs + 4 * (lane % 4);
    const float* lower = upper + 8 * inputs;
#pragma unroll at_once
    for (int depth = 16 * warp; depth < inputs; depth += 16 * product_warps) {
      const float4 one = four_at(upper + depth), other = four_at(lower + depth);
      float4 fours[groups];
      load(depth, fours);
      typename Format::template Part<4> a[2];
      a[0].set(0, one.x);
      a[0].set(1, other.x);
      a[0].set(2, one.y);
      a[0].set(3, other.y);
      a[1].set(0, one.z);
      a[1].set(1, other.z);
      a[1].set(2, one.w);
      a[1].set(3, other.w);
      add(a, fours);
    }
  }

  // With 16 columns of weights [outputs, inputs]: the sums' features are 2 (lane / 4) and the next one.
  __device__ __forceinline__ void backward(const float* weights, int inputs, int outputs) {
    const float* columns = weights + 2 * (lane / 4);
#pragma unroll at_once
    for (int depth = 16 * warp; depth < outputs; depth += 16 * product_warps) {
      const float* first = columns + static_cast<std::int64_t>(depth + 4 * (lane % 4)) * inputs;
      float2 twos[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) twos[i] = two_at(first + i * inputs);
      float4 fours[groups];
      load(depth, fours);
      typename Format::template Part<4> a[2];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i / 2].set(i % 2 * 2, twos[i].x);
        a[i / 2].set(i % 2 * 2 + 1, twos[i].y);
      }
      add(a, fours);
    }
  }

  // Adds up what the warps have, always in the same order, and calls visit(row, feature, sum, next sum) for
  // each pair of features. `one` and `other`: the features that this lane has. All threads come here.
  template <class Visit>
  __device__ __forceinline__ void finish(int one, int other, int count, float* memory, Visit&& visit) {
    float* own = memory + warp * rows_of_tile * sum_stride;
#pragma unroll
    for (int i = 0; i < groups; ++i) {
      float* row = own + (8 * i + 2 * (lane % 4)) * sum_stride;
      row[one] = sums[i][0];
      row[sum_stride + one] = sums[i][1];
      row[other] = sums[i][2];
      row[sum_stride + other] = sums[i][3];
    }
    __syncthreads();
    const int row = static_cast<int>(threadIdx.x) / 8, feature = static_cast<int>(threadIdx.x) % 8 * 2;
    if (row < count) {
      float2 sum = two_at(memory + row * sum_stride + feature);
#pragma unroll
      for (int i = 1; i < product_warps; ++i) {
        const float2 more = two_at(memory + (i * rows_of_tile + row) * sum_stride + feature);
        sum.x += more.x;
        sum.y += more.y;
      }
      visit(row, feature, sum.x, sum.y);
    }
    __syncthreads();
  }
};

// Calls multiply() with the number of groups that so many rows have, which the compiler must know.
template <int Count>
struct RowGroups {
  static constexpr int count = Count;
};
template <class Multiply>
__device__ __forceinline__ void with_groups_of(int rows, Multiply&& multiply) {
  if (rows <= 8) {
    multiply(RowGroups<1>{});
  } else if (rows <= 16) {
    multiply(RowGroups<2>{});
  } else {
    multiply(RowGroups<row_groups>{});
  }
}

__device__ __forceinline__ void store_two(float* to, float one, float other) {
  float2 two;
  two.x = one;
  two.y = other;
  *reinterpret_cast<float2*>(to) = two;
}

// The router's hidden layer.
struct RouterInner {
  static constexpr int threads = product_threads;
  static constexpr int bytes = product_bytes;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char* memory) const {
    const Layer& layer = work.layout.router[0];
    const int features = layer.outputs / tile, rows = rows_of(work);
    const int items = (rows + rows_of_tile - 1) / rows_of_tile * features;
    for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
      const int feature = item % features * tile, first = item / features * rows_of_tile;
      const int count = rows - first < rows_of_tile ? rows - first : rows_of_tile;
      const float* weights =
          work.parameters + layer.weights + static_cast<std::int64_t>(feature) * layer.inputs;
      const float* biases = work.parameters + layer.biases + feature;
      float* to = work.inner + static_cast<std::int64_t>(first) * layer.outputs + feature;
      with_groups_of(count, [&](auto groups) {
        TileProduct<Fp32, decltype(groups)::count> product(
            {work.features, layer.inputs, nullptr, first, count});
        product.forward(weights, layer.inputs);
        product.finish(product.lane / 4, product.lane / 4 + 8, count, reinterpret_cast<float*>(memory),
                       [&](int row, int i, float one, float other) {
                         store_two(to + static_cast<std::int64_t>(row) * layer.outputs + i,
                                   fmaxf(one + biases[i], 0.0F), fmaxf(other + biases[i + 1], 0.0F));
                       });
      });
    }
  }
};

// Calls multiply(groups, rows of an expert, first feature) for those of all tiles that this block has, each
// `features` times.
template <class Multiply>
__device__ __forceinline__ void each_tile(const ExpertWork& work, int features, Multiply&& multiply) {
  const int items = *work.tile_count * features;
  for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
    const RowTile at = work.tiles[item / features];
    with_groups_of(at.rows, [&](auto groups) { multiply(groups, at, item % features * tile); });
  }
}

// Rows that enter a layer of an expert.
__device__ __forceinline__ RowsIn entering(const ExpertWork& work, int layer, int first, int count) {
  const int stride = work.layout.layers[layer].inputs;
  if (layer == 0) return {work.features, stride, work.sources, first, count};
  return {work.answers[layer - 1], stride, nullptr, first, count};
}

// A layer of all experts, each with its own rows.
template <class Format>
struct Forward {
  int layer;
  static constexpr int threads = product_threads;
  static constexpr int bytes = product_bytes;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char* memory) const {
    each_tile(work, work.layout.layers[layer].outputs / tile,
              [&](auto groups, const RowTile& at, int feature) {
                multiply<decltype(groups)::count>(work, at, feature, reinterpret_cast<float*>(memory));
              });
  }

 private:
  template <int groups>
  __device__ __forceinline__ void multiply(const ExpertWork& work, const RowTile& at, int feature,
                                           float* memory) const {
    const Layer& of = work.layout.layers[layer];
    const float* network = work.parameters + work.layout.expert_at(at.expert);
    TileProduct<Format, groups> product(entering(work, layer, at.first, at.rows));
    product.forward(network + of.weights + static_cast<std::int64_t>(feature) * of.inputs, of.inputs);
    const float* biases = network + of.biases + feature;
    const bool is_last = layer + 1 == work.layout.layer_count;
    const bool drops = !is_last && work.is_training && work.dropout_threshold > 0;
    RandomKey key{};
    if (drops)
      key = dropout_key(work.seed, static_cast<std::uint64_t>(work.counters->current_step),
                        static_cast<std::uint32_t>(layer));
    const std::int64_t numbered = static_cast<std::int64_t>(at.expert) * rows_of(work);
    product.finish(product.lane / 4, product.lane / 4 + 8, at.rows, memory,
                   [&](int row, int i, float one, float other) {
                     one += biases[i];
                     other += biases[i + 1];
                     if (!is_last) {
                       one = fmaxf(one, 0.0F);
                       other = fmaxf(other, 0.0F);
                     }
                     const std::int64_t place = at.first + row;
                     if (drops) {
                       const std::int64_t element = (numbered + work.sources[place]) * of.width + feature + i;
                       one = left_of(one, key, element, work);
                       other = left_of(other, key, element + 1, work);
                     }
                     store_two(work.answers[layer] + place * of.outputs + feature + i, one, other);
                   });
  }

  __device__ __forceinline__ static float left_of(float value, RandomKey key, std::int64_t element,
                                                  const ExpertWork& work) {
    const std::uint32_t bits = random_bits(key, static_cast<std::uint32_t>(element / 2));
    return dropped(bits, static_cast<std::uint32_t>(element), work.dropout_threshold)
               ? 0.0F
               : value * work.dropout_scale;
  }
};

// From the deltas of a layer to those of the one below it.
template <class Format>
struct Backward {
  int layer;  // above 0
  static constexpr int threads = product_threads;
  static constexpr int bytes = product_bytes;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char* memory) const {
    each_tile(work, work.layout.layers[layer].inputs / tile,
              [&](auto groups, const RowTile& at, int feature) {
                multiply<decltype(groups)::count>(work, at, feature, reinterpret_cast<float*>(memory));
              });
  }

 private:
  template <int groups>
  __device__ __forceinline__ void multiply(const ExpertWork& work, const RowTile& at, int feature,
                                           float* memory) const {
    const Layer& of = work.layout.layers[layer];
    TileProduct<Format, groups> product({work.deltas[layer], of.outputs, nullptr, at.first, at.rows});
    product.backward(work.parameters + work.layout.expert_at(at.expert) + of.weights + feature, of.inputs,
                     of.outputs);
    const float scale = work.dropout_scale;
    product.finish(2 * (product.lane / 4), 2 * (product.lane / 4) + 1, at.rows, memory,
                   [&](int row, int i, float one, float other) {
                     const std::int64_t place =
                         static_cast<std::int64_t>(at.first + row) * of.inputs + feature + i;
                     const float2 answer = two_at(work.answers[layer - 1] + place);
                     store_two(work.deltas[layer - 1] + place, answer.x > 0 ? one * scale : 0.0F,
                               answer.y > 0 ? other * scale : 0.0F);
                   });
  }
};

}  // namespace stoker::fused::experts
