#pragma once

#include "fused/cuda/sequence/tiles.cuh"
#include "fused/cuda/sequence/transformer_plan.h"

// One head of the attention of one window, by one warp, in registers. Queries, keys and values lie in rows of
// tokens in shared memory.
namespace stoker::fused::sequence {

template <int Length>
struct AttentionHead {
  static constexpr int row_tiles = (Length + 15) / 16;
  static constexpr int column_tiles = row_tiles * 2;  // of 8
  static constexpr float scale = 0.25F;               // 1 / sqrt(head_size)
  static constexpr int pitch = (3 * hidden + 8) * 2;

  Word rows;  // of queries, keys and values
  int base;   // first token of the window
  int head;
  int lane;
  int padded;  // tokens that may be read

  // Of a row of tokens i and i + 8, columns 2t, 2t + 1.
  struct Weights {
    float at[row_tiles][column_tiles][4];
  };

  // Tokens beyond the window are read as some other: their products are not used.
  __device__ __forceinline__ Word row_address(Word from, int row_pitch, int row, int column) const {
    const int place = min(base + row, padded - 1);
    return from + place * row_pitch + column * 2;
  }
  __device__ __forceinline__ int column_of(int part) const { return part * hidden + head * head_size; }

  // Fragment of rows i .. i + 15 as the left factor.
  __device__ __forceinline__ uint4 left(Word from, int row_pitch, int row, int column) const {
    Word four[4];
    load_matrices(four, row_address(from, row_pitch, row + (lane & 15), column + (lane >> 4) * 8));
    return make_uint4(four[0], four[1], four[2], four[3]);
  }
  // Rows j .. j + 7 as columns of the right factor, over the head's 16 values.
  __device__ __forceinline__ void right(Word (&two)[2], Word from, int row_pitch, int row, int column) const {
    load_matrices(two, row_address(from, row_pitch, row + (lane & 7), column + ((lane >> 3) & 1) * 8));
  }
  // Rows k .. k + 15 as rows of the right factor, of its 8 values from `column` on.
  __device__ __forceinline__ void right_transposed(Word (&two)[2], Word from, int row_pitch, int row,
                                                   int column) const {
    load_transposed(two, row_address(from, row_pitch, row + (lane & 15), column));
  }

  // out[i][j] = a_i b_j over the head's values.
  __device__ __forceinline__ void products(Weights& out, Word a, int a_pitch, int a_column, Word b,
                                           int b_pitch, int b_column) const {
#pragma unroll
    for (int i = 0; i < row_tiles; ++i) {
      const uint4 of_rows = left(a, a_pitch, i * 16, a_column);
#pragma unroll
      for (int j = 0; j < column_tiles; ++j) {
        Word two[2];
        right(two, b, b_pitch, j * 8, b_column);
#pragma unroll
        for (float& each : out.at[i][j]) each = 0;
        multiply_add_bf16(out.at[i][j], of_rows, two[0], two[1]);
      }
    }
  }

  // The softmax of queries and keys; 0 for what is no moment of the window.
  __device__ __forceinline__ void weigh(Weights& weights) const {
    products(weights, rows, pitch, column_of(0), rows, pitch, column_of(1));
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float most = -1e30F;
#pragma unroll
        for (int j = 0; j < column_tiles; ++j)
#pragma unroll
          for (int k = 0; k < 2; ++k)
            if (j * 8 + (lane % 4) * 2 + k < Length) most = fmaxf(most, weights.at[i][j][half * 2 + k]);
        most = quad_max(most);
        float sum = 0;
#pragma unroll
        for (int j = 0; j < column_tiles; ++j)
#pragma unroll
          for (int k = 0; k < 2; ++k) {
            const bool is_there =
                j * 8 + (lane % 4) * 2 + k < Length && i * 16 + half * 8 + lane / 4 < Length;
            float& each = weights.at[i][j][half * 2 + k];
            each = is_there ? __expf((each - most) * scale) : 0.0F;
            sum += each;
          }
        sum = quad_sum(sum);
        const float factor = sum > 0 ? 1 / sum : 0.0F;
#pragma unroll
        for (int j = 0; j < column_tiles; ++j)
#pragma unroll
          for (int k = 0; k < 2; ++k) weights.at[i][j][half * 2 + k] *= factor;
      }
  }

  // Times the masks; `first` is the index of the first pair of moments.
  __device__ __forceinline__ void drop(Weights& weights, const Mask& mask, Word first) const {
    if (mask.threshold == 0) return;
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int j = 0; j < column_tiles; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const Word index = first + (i * 16 + half * 8 + lane / 4) * Length + j * 8 + (lane % 4) * 2;
          float2 factors;
          if constexpr (Length % 2 == 0) {
            factors = mask.pair(index);
          } else {
            factors = make_float2(mask.at(index), mask.at(index + 1));
          }
          weights.at[i][j][half * 2] *= factors.x;
          weights.at[i][j][half * 2 + 1] *= factors.y;
        }
  }

  // As the left factor of a product over the columns; and of one over the rows.
  static __device__ __forceinline__ uint4 left_of(const Weights& w, int i, int k) {
    const float(&a)[4] = w.at[i][2 * k];
    const float(&b)[4] = w.at[i][2 * k + 1];
    return make_uint4(pack_bf16(a[0], a[1]), pack_bf16(a[2], a[3]), pack_bf16(b[0], b[1]),
                      pack_bf16(b[2], b[3]));
  }
  static __device__ __forceinline__ uint4 left_of_transposed(const Weights& w, int j, int k) {
    const float(&a)[4] = w.at[k][2 * j];
    const float(&b)[4] = w.at[k][2 * j + 1];
    return make_uint4(transpose(pack_bf16(a[0], a[1])), transpose(pack_bf16(b[0], b[1])),
                      transpose(pack_bf16(a[2], a[3])), transpose(pack_bf16(b[2], b[3])));
  }

  // to[i] = sum over j of weights[i][j] from[j], or with the weights transposed.
  template <bool Transposed>
  __device__ __forceinline__ void mix_rows(const Weights& weights, Word from, int from_pitch, int from_column,
                                           char* to, int to_pitch, int to_column) const {
#pragma unroll
    for (int i = 0; i < row_tiles; ++i) {
      float sums[2][4];
      clear(sums);
#pragma unroll
      for (int k = 0; k < row_tiles; ++k) {
        const uint4 a = Transposed ? left_of_transposed(weights, i, k) : left_of(weights, i, k);
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          Word two[2];
          right_transposed(two, from, from_pitch, k * 16, from_column + n * 8);
          multiply_add_bf16(sums[n], a, two[0], two[1]);
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = i * 16 + half * 8 + lane / 4;
        if (row >= Length) continue;
#pragma unroll
        for (int n = 0; n < 2; ++n)
          *reinterpret_cast<Word*>(to + (base + row) * to_pitch + (to_column + n * 8 + (lane % 4) * 2) * 2) =
              pack_bf16(sums[n][half * 2], sums[n][half * 2 + 1]);
      }
    }
  }

  // The context: values mixed by weights.
  __device__ __forceinline__ void mix(const Weights& weights, char* to, int to_pitch) const {
    mix_rows<false>(weights, rows, pitch, column_of(2), to, to_pitch, head * head_size);
  }

  // Gradients of queries, keys and values from that of the context.
  __device__ __forceinline__ void backward(const Mask& mask, Word first, Word d_context, int d_pitch,
                                           char* to, int to_pitch) const {
    Weights weights;
    weigh(weights);
    Weights gradient;
    products(gradient, d_context, d_pitch, head * head_size, rows, pitch, column_of(2));
    {
      Weights dropped_weights = weights;
      drop(dropped_weights, mask, first);
      mix_rows<true>(dropped_weights, d_context, d_pitch, head * head_size, to, to_pitch, column_of(2));
    }
    drop(gradient, mask, first);
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = 0;
#pragma unroll
        for (int j = 0; j < column_tiles; ++j)
#pragma unroll
          for (int k = 0; k < 2; ++k) sum += weights.at[i][j][half * 2 + k] * gradient.at[i][j][half * 2 + k];
        sum = quad_sum(sum);
#pragma unroll
        for (int j = 0; j < column_tiles; ++j)
#pragma unroll
          for (int k = 0; k < 2; ++k) {
            float& each = weights.at[i][j][half * 2 + k];
            // What is no moment of the window has the weight 0; its gradient may be anything.
            each = each == 0 ? 0.0F : scale * each * (gradient.at[i][j][half * 2 + k] - sum);
          }
      }
    mix_rows<false>(weights, rows, pitch, column_of(1), to, to_pitch, column_of(0));
    mix_rows<true>(weights, rows, pitch, column_of(0), to, to_pitch, column_of(1));
  }
};

}  // namespace stoker::fused::sequence
