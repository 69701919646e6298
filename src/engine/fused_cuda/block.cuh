#pragma once

#include "base/random.h"
#include "engine/fused_cuda/math.cuh"
#include "engine/fused_cuda/plan.h"
#include "engine/fused_cuda/ptx.cuh"
#include "engine/fused_cuda/work.h"

namespace stoker::fused {

// What every block does with its 32 rows: fetch, forward, loss, deltas, gradients. What becomes of a gradient
// is the business of Self: settle_tile, settle_bias and settle_output take the sums as tensor cores leave
// them.
template <class Net, class Self>
struct Block {
  static constexpr Plan P = Net::plan;

  const ModelWork& work;
  char* const shared;
  const Word base = shared_address(shared);
  const int thread = static_cast<int>(threadIdx.x);
  // The same in all lanes, and known to be: what depends on it costs no register of every lane.
  const int warp = __shfl_sync(~0U, thread >> 5, 0);
  const int lane = thread & 31;
  const int group = lane >> 2;      // row of a tile
  const int pair = 2 * (lane & 3);  // first of two columns of a tile

  Word mask[P.mask_words() + 1];  // this step's dropout, then the next one's first layer
  Factors factors;
  const float dropout_scale = work.dropout_scale;

  __device__ __forceinline__ Block(const ModelWork& of, char* memory) : work(of), shared(memory) {}
  __device__ __forceinline__ Self& self() { return static_cast<Self&>(*this); }

  // A team works on more rows than a block has, in several passes; `step` then counts passes.
  static constexpr bool is_team = P.team > 0;
  int block = 0;   // of the model's
  int passes = 1;  // of a step
  __device__ __forceinline__ int pass_of(int step) const { return is_team ? step % passes : 0; }
  __device__ __forceinline__ int step_of(int step) const { return is_team ? step / passes : step; }
  // The first row of the batch that the block works on.
  __device__ __forceinline__ int first_row(int step) const {
    return is_team ? (block * passes + pass_of(step)) * rows : 0;
  }

  // ---- where things lie: this lane's part of an address, for a matrix whose rows are Stride halves apart
  // An operand [16, 16] by rows, and one that is read transposed.
  template <int Stride>
  __device__ __forceinline__ Word by_rows() const {
    return base + ((lane & 15) * Stride + (lane >> 4) * 8) * 2;
  }
  template <int Stride>
  __device__ __forceinline__ Word turned() const {
    return base + (((lane & 7) + ((lane >> 4) << 3)) * Stride + ((lane >> 3) & 1) * 8) * 2;
  }
  // 32 rows of 8 columns, and 8 rows of 32 columns.
  template <int Stride>
  __device__ __forceinline__ Word down() const {
    return base + lane * Stride * 2;
  }
  template <int Stride>
  __device__ __forceinline__ Word across() const {
    return base + ((lane & 7) * Stride + (lane >> 3) * 8) * 2;
  }
  // The two neighbours of a tile that this lane holds.
  template <int Stride>
  __device__ __forceinline__ Word& held(int at) const {
    return *reinterpret_cast<Word*>(shared + (group * Stride + pair) * 2 + at);
  }
  template <int Stride>
  __device__ __forceinline__ static int tile_at(int tile_row, int tile_column) {
    return (tile_row * 16 * Stride + tile_column * 8) * 2;
  }
  __device__ __forceinline__ int x_at(int step) const {
    return P.x_at() + (step & (stages - 1)) * P.x_bytes();
  }
  __device__ __forceinline__ RowTarget* targets(int step) const {
    return reinterpret_cast<RowTarget*>(shared + P.target_at()) + (step & (stages - 1)) * rows;
  }
  template <int H>
  __device__ __forceinline__ int a_at(int step) const {
    return P.a_at(H) + (P.a_copies(H) == 2 ? (step & 1) * P.a_bytes(1) : 0);
  }
  template <int H>
  __device__ __forceinline__ int slope_at(int step) const {
    return P.slope_at(H) + (P.a_copies(H) == 2 ? (step & 1) * P.a_bytes(1) : 0);
  }
  template <int L>
  __device__ __forceinline__ int w_at(int step) const {
    return P.w_at(L) + (P.w_copies() == 2 ? (step & 1) * P.w_bytes(L) : 0);
  }
  __device__ __forceinline__ float* floats(int at) const { return reinterpret_cast<float*>(shared + at); }
  __device__ __forceinline__ StepFactors& step_factors(int step) const {
    return reinterpret_cast<StepFactors*>(shared + P.factors_at())[step & (stages - 1)];
  }

  // ---- rows of a batch, fetched ahead
  static constexpr int pieces = P.depth(0) / 8;  // of 16 bytes a row
  static constexpr int fetches = rows * (pieces + 1) + 1;
  static constexpr int fetch_rounds = divide_up(fetches, threads);
  int next_rows[fetch_rounds];

  // Threads from the end fetch: the first warps are those that the loss waits for.
  __device__ __forceinline__ int fetch_unit(int round) const {
    return threads - 1 - thread + round * threads;
  }
  __device__ __forceinline__ static int row_of(int unit) {
    return unit < rows * pieces ? unit / pieces : unit - rows * pieces;
  }
  __device__ __forceinline__ void look_up(int step) {
#pragma unroll
    for (int round = 0; round < fetch_rounds; ++round) {
      const int unit = fetch_unit(round);
      next_rows[round] = unit < fetches - 1 && step < work.steps * passes
                             ? work.order[step_of(step) * work.order_stride + first_row(step) + row_of(unit)]
                             : -1;
    }
  }
  __device__ __forceinline__ void fetch(int step) {
#pragma unroll
    for (int round = 0; round < fetch_rounds; ++round) {
      const int unit = fetch_unit(round);
      const int row = row_of(unit);
      const bool there = next_rows[round] >= 0;
      const std::int64_t from = there ? next_rows[round] : 0;
      if (unit < rows * pieces) {
        const int piece = unit % pieces;
        copy_16(base + x_at(step) + (row * P.x_stride() + piece * 8) * 2,
                work.features + from * P.depth(0) + piece * 8, there ? 16 : 0);
      } else if (unit < fetches - 1) {
        copy_8(shared_address(targets(step) + row), work.targets + from, there ? 8 : 0);
      } else if (unit == fetches - 1 && step < work.steps * passes) {
        copy_16(shared_address(&step_factors(step)), work.factors + step_of(step), 16);
      }
    }
    end_copies();
  }

  // ---- dropout
  // As dropout_key() has it: the first word is one for all layers of a step, the second is each layer's own.
  template <int H>
  __device__ __forceinline__ void draw_layers(Word shared_key, std::int64_t step, int row, int of_warp,
                                              Word (&bits)[P.mask_words() + 1]) const {
    if constexpr (H < P.layers) {
      constexpr int width = P.width[H];
      const auto high =
          static_cast<Word>(static_cast<std::uint64_t>(step) >> 32) | (static_cast<Word>(H - 1) << 16);
      const RandomKey key{shared_key, mix(high + shared_key + 0x85ebca6bU)};
      const Word limit = work.dropout_threshold << 16;
#pragma unroll
      for (int i = 0; i < P.forward_tiles(H); ++i) {
        constexpr int first_tile = P.mask_tile_at(H);
        constexpr int pair_of = P.pair_of(H), across_units = P.columns(H - 1) / pair_of;
        const int unit = of_warp + i / pair_of * warps;
        const int tile_row = H == 1 ? i & 1 : unit / across_units;
        const int tile_column =
            H == 1 ? of_warp + (i >> 1) * warps : unit % across_units * pair_of + i % pair_of;
        Word& word = bits[(first_tile + i) / 8];
        const int shift = (first_tile + i) % 8 * 4;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if constexpr (width % 2 == 0) {
            const Word index = (row + tile_row * 16 + half * 8) * (width / 2) + tile_column * 4 +
                               group * (width / 2) + pair / 2;
            const Word hash = random_bits(key, index);
            if ((hash << 16) >= limit) word |= 1U << (shift + half * 2);
            if (hash >= limit) word |= 2U << (shift + half * 2);
          } else {
            const Word element = (row + tile_row * 16 + half * 8 + group) * width + tile_column * 8 + pair;
            if (!dropped(random_bits(key, element >> 1), element, work.dropout_threshold))
              word |= 1U << (shift + half * 2);
            if (!dropped(random_bits(key, (element + 1) >> 1), element + 1, work.dropout_threshold))
              word |= 2U << (shift + half * 2);
          }
        }
      }
      draw_layers<H + 1>(shared_key, step, row, of_warp, bits);
    }
  }
  Word next_key = 0;  // of the step whose masks are drawn next
  __device__ __forceinline__ void look_up_key(int step) {
    if constexpr (P.has_dropout)
      if (step < work.steps * passes) next_key = work.factors[step_of(step)].key;
  }
  __device__ __forceinline__ Word* masks(int step) const {
    return reinterpret_cast<Word*>(shared + P.masks_at()) + (step & 1) * P.mask_words() * threads;
  }
  // Warps from FirstWarp on draw for all, in rounds.
  static constexpr int draw_rounds(int first_warp) {
    return divide_up(warps, warps - first_warp);
  }
  template <int FirstWarp>
  __device__ __forceinline__ void draw_masks(int step, int first_round, int end_round) const {
    if constexpr (P.has_dropout) {
      const std::int64_t number = work.first_step + step_of(step);
#pragma unroll
      for (int round = first_round; round < end_round; ++round) {
        const int of_warp = warp - FirstWarp + round * (warps - FirstWarp);
        if (warps % (warps - FirstWarp) != 0 && of_warp >= warps) break;
        Word bits[P.mask_words() + 1] = {};
        draw_layers<1>(next_key, number, first_row(step), of_warp, bits);
#pragma unroll
        for (int word = 0; word < P.mask_words(); ++word)
          masks(step)[word * threads + of_warp * 32 + lane] = bits[word];
      }
    }
  }
  __device__ __forceinline__ void take_masks(int step) {
#pragma unroll
    for (int word = 0; word < P.mask_words(); ++word) mask[word] = masks(step)[word * threads + thread];
  }

  template <int Stride>
  __device__ __forceinline__ void put(int at, const float (&c)[4]) const {
    held<Stride>(at) = pack(c[0], c[1]);
    held<Stride>(at + 8 * Stride * 2) = pack(c[2], c[3]);
  }

  // Activation, dropout and slope of a tile of hidden layer H; leaves the values in c.
  template <int H>
  __device__ __forceinline__ void finish_tile(float (&c)[4], int tile_row, int tile_column, int mask_tile,
                                              int step) {
    float slope[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto a = activate<P.activation>(c[i]);
      bool kept = P.width[H] % 16 == 0 || tile_column * 8 + pair + (i & 1) < P.width[H];
      if constexpr (P.has_dropout)
        kept = kept && ((mask[mask_tile / 8] >> ((mask_tile % 8) * 4 + i)) & 1U) != 0;
      // Scaled first, chosen after: a choice between two scales would be loaded lane by lane.
      const float value = P.has_dropout ? a.value * dropout_scale : a.value;
      c[i] = kept ? value : 0.0F;
      if constexpr (!P.is_relu())
        slope[i] = kept ? (P.has_dropout ? a.slope * dropout_scale : a.slope) : 0.0F;
    }
    put<P.a_stride(H)>(a_at<H>(step) + tile_at<P.a_stride(H)>(tile_row, tile_column), c);
    if constexpr (!P.is_relu())
      put<P.a_stride(H)>(slope_at<H>(step) + tile_at<P.a_stride(H)>(tile_row, tile_column), slope);
  }

  // Deltas of a tile through the activation of hidden layer H.
  template <int H>
  __device__ __forceinline__ void through_activation(float (&c)[4], int tile_row, int tile_column,
                                                     int step) const {
    constexpr int stride = P.a_stride(H);
    const int at = tile_at<stride>(tile_row, tile_column);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if constexpr (P.is_relu()) {
        // Left out or not active: the activation is 0.
        const Word a = held<stride>(a_at<H>(step) + at + half * 8 * stride * 2);
        const float scale = P.has_dropout ? dropout_scale : 1.0F;
        c[2 * half] = (a & 0x7fffU) != 0 ? c[2 * half] * scale : 0.0F;
        c[2 * half + 1] = (a & 0x7fff0000U) != 0 ? c[2 * half + 1] * scale : 0.0F;
      } else {
        const Word slope = held<stride>(slope_at<H>(step) + at + half * 8 * stride * 2);
        c[2 * half] *= low_half(slope);
        c[2 * half + 1] *= high_half(slope);
      }
    }
  }

  // ---- forward
  // c = rows [16 * tile_row ..] of the activations that enter matrix L, times its columns [8 * tile_column
  // ..].
  template <int L>
  __device__ __forceinline__ void forward_tile(float (&c)[4], int tile_row, int tile_column, int step) const {
    constexpr int deep = P.depth(L);
    const Word a_from = by_rows<P.a_stride(L)>() + a_at<L>(step) + tile_at<P.a_stride(L)>(tile_row, 0);
    const Word w_from = down<P.w_stride(L)>() + w_at<L>(step) + tile_column * 16;
    float other[4] = {0, 0, 0, 0};
    const float2 bias = *reinterpret_cast<const float2*>(shared + P.b_at(L) + (tile_column * 8 + pair) * 4);
    c[0] = c[2] = bias.x;
    c[1] = c[3] = bias.y;
#pragma unroll
    for (int k = 0; k + 32 <= deep; k += 32) {
      Word b[4], a[4];
      load_transposed(b, w_from + k * P.w_stride(L) * 2);
      load_matrices(a, a_from + k * 2);
      multiply_add(c, a, b[0], b[1]);
      load_matrices(a, a_from + (k + 16) * 2);
      multiply_add(other, a, b[2], b[3]);
    }
    if constexpr (deep % 32 != 0) {
      Word b[2], a[4];
      // Only the first 16 lanes' addresses count.
      load_transposed(b, w_from + (deep - 16) * P.w_stride(L) * 2);
      load_matrices(a, a_from + (deep - 16) * 2);
      multiply_add(c, a, b[0], b[1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] += other[i];
  }

  // Hidden layer 1 from the weights in this warp's registers.
  __device__ __forceinline__ void forward_first(int step) {
#pragma unroll
    for (int i = 0; i < P.first_columns(); ++i) {
      const int tile_column = warp + i * warps;
      if (P.columns(0) % warps != 0 && tile_column >= P.columns(0)) break;
      float c[2][4] = {};
#pragma unroll
      for (int k = 0; k < P.first_tiles(); ++k) {
        Word b[2];
        self().first_operand(b, i * P.first_tiles() + k, k, tile_column);
#pragma unroll
        for (int tile_row = 0; tile_row < 2; ++tile_row) {
          Word a[4];
          load_matrices(a, by_rows<P.x_stride()>() + x_at(step) + tile_at<P.x_stride()>(tile_row, 2 * k));
          multiply_add(c[tile_row], a, b[0], b[1]);
        }
      }
      finish_tile<1>(c[0], 0, tile_column, 2 * i, step);
      finish_tile<1>(c[1], 1, tile_column, 2 * i + 1, step);
    }
  }

  // Two tiles beside each other: what forward_tile does, with the activations read once.
  template <int L>
  __device__ __forceinline__ void forward_pair(float (&c)[2][4], int tile_row, int tile_column,
                                               int step) const {
    constexpr int deep = P.depth(L);
    const Word a_from = by_rows<P.a_stride(L)>() + a_at<L>(step) + tile_at<P.a_stride(L)>(tile_row, 0);
    const Word w_from = down<P.w_stride(L)>() + w_at<L>(step) + tile_column * 16;
    float other[2][4] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 bias =
          *reinterpret_cast<const float2*>(shared + P.b_at(L) + ((tile_column + half) * 8 + pair) * 4);
      c[half][0] = c[half][2] = bias.x;
      c[half][1] = c[half][3] = bias.y;
    }
#pragma unroll
    for (int k = 0; k < deep; k += 32) {
      Word a[4], a_next[4];
      load_matrices(a, a_from + k * 2);
      if (k + 32 <= deep) load_matrices(a_next, a_from + (k + 16) * 2);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Word from = w_from + k * P.w_stride(L) * 2 + half * 16;
        if (k + 32 <= deep) {
          Word b[4];
          load_transposed(b, from);
          multiply_add(c[half], a, b[0], b[1]);
          multiply_add(other[half], a_next, b[2], b[3]);
        } else {
          Word b[2];
          load_transposed(b, from);
          multiply_add(c[half], a, b[0], b[1]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) c[i / 4][i % 4] += other[i / 4][i % 4];
  }

  template <int H>
  __device__ __forceinline__ void forward(int step) {
    constexpr int pair_of = P.pair_of(H), across_units = P.columns(H - 1) / pair_of;
#pragma unroll
    for (int i = 0; i < divide_up(P.units(H), warps); ++i) {
      const int unit = warp + i * warps;
      if (P.units(H) % warps != 0 && unit >= P.units(H)) break;
      const int tile_row = unit / across_units, tile_column = unit % across_units * pair_of;
      const int mask_tile = P.mask_tile_at(H) + i * pair_of;
      if constexpr (pair_of == 2) {
        float c[2][4];
        forward_pair<H - 1>(c, tile_row, tile_column, step);
        finish_tile<H>(c[0], tile_row, tile_column, mask_tile, step);
        finish_tile<H>(c[1], tile_row, tile_column + 1, mask_tile + 1, step);
      } else {
        float c[4];
        forward_tile<H - 1>(c, tile_row, tile_column, step);
        finish_tile<H>(c, tile_row, tile_column, mask_tile, step);
      }
    }
  }
  // While some warps compute, idle ones look ahead: at the rows of the step after next and at the dropout of
  // the next.
  template <int FirstWarp>
  __device__ __forceinline__ void look_ahead(int step) {
    fetch(step + 2);
    look_up(step + 3);
    draw_masks<FirstWarp>(step + 1, 0, P.draws_twice() ? 1 : draw_rounds(FirstWarp));
    if constexpr (!P.draws_twice()) look_up_key(step + 2);
    wait_for_copies<1>();
  }
  template <int H>
  __device__ __forceinline__ void forward_up_to_last(int step) {
    if constexpr (H < P.hidden() || (H == P.hidden() && !P.scalar())) {
      if constexpr (H == P.ahead_layer()) {
        if (warp < P.units(H))
          forward<H>(step);
        else
          look_ahead<P.units(H)>(step);
      } else {
        forward<H>(step);
      }
      __syncthreads();
      forward_up_to_last<H + 1>(step);
    }
  }

  // ---- output and loss, one output
  __device__ __forceinline__ void scalar_output(int step) {
    constexpr int H = P.hidden();
    constexpr int columns = P.columns(H - 1);
    constexpr int units = H == 1 ? 2 * P.first_columns() : P.forward_tiles(H);
    float c[units][4];
    const auto place = [&](int i, int& tile_row, int& tile_column) {
      if constexpr (H == 1) {
        tile_row = i & 1;
        tile_column = warp + (i >> 1) * warps;
        return columns % warps == 0 || tile_column < columns;
      } else {
        const int unit = warp + i * warps;
        tile_row = unit / columns;
        tile_column = unit % columns;
        return (2 * columns) % warps == 0 || unit < 2 * columns;
      }
    };
    const float* out_weights = floats(P.out_weights_at());
    float* parts = floats(P.part_at());
#pragma unroll
    for (int i = 0; i < units; ++i) {
      int tile_row, tile_column;
      if (!place(i, tile_row, tile_column)) continue;
      if constexpr (H == 1) {
        const int at = a_at<1>(step) + tile_at<P.a_stride(1)>(tile_row, tile_column);
        const Word upper = held<P.a_stride(1)>(at), lower = held<P.a_stride(1)>(at + 8 * P.a_stride(1) * 2);
        c[i][0] = low_half(upper), c[i][1] = high_half(upper), c[i][2] = low_half(lower),
        c[i][3] = high_half(lower);
      } else {
        forward_tile<H - 1>(c[i], tile_row, tile_column, step);
        finish_tile<H>(c[i], tile_row, tile_column, P.mask_tile_at(H) + i, step);
      }
      const float2 of = *reinterpret_cast<const float2*>(out_weights + tile_column * 8 + pair);
      float upper = c[i][0] * of.x + c[i][1] * of.y, lower = c[i][2] * of.x + c[i][3] * of.y;
      upper += __shfl_xor_sync(~0U, upper, 1);
      lower += __shfl_xor_sync(~0U, lower, 1);
      upper += __shfl_xor_sync(~0U, upper, 2);
      lower += __shfl_xor_sync(~0U, lower, 2);
      if ((lane & 3) == 0) {
        parts[(tile_row * 16 + group) * P.part_stride() + tile_column] = upper;
        parts[(tile_row * 16 + group + 8) * P.part_stride() + tile_column] = lower;
      }
    }
    // What the loss needs besides: read before the barrier, not after it.
    const float bias = floats(P.b_at(P.layers - 1))[0], per_row = step_factors(step).per_row;
    RowTarget wanted[units][2];
    float2 wx[units];
#pragma unroll
    for (int i = 0; i < units; ++i) {
      int tile_row, tile_column;
      if (!place(i, tile_row, tile_column)) continue;
      wx[i] = *reinterpret_cast<const float2*>(out_weights + tile_column * 8 + pair);
#pragma unroll
      for (int half = 0; half < 2; ++half) wanted[i][half] = targets(step)[tile_row * 16 + group + half * 8];
    }
    if constexpr (P.busy_warps() == warps)
      __syncthreads();
    else
      wait_among(P.busy_warps() * 32);
#pragma unroll
    for (int i = 0; i < units; ++i) {
      int tile_row, tile_column;
      if (!place(i, tile_row, tile_column)) continue;
      float d[4], losses[2], slopes[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = tile_row * 16 + group + half * 8;
        float4 sum = make_float4(bias, 0, 0, 0);
#pragma unroll
        for (int j = 0; j < P.part_stride(); j += 4) {
          const float4 part = *reinterpret_cast<const float4*>(parts + row * P.part_stride() + j);
          sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
        }
        const RowTarget target = wanted[i][half];
        const RowLoss loss =
            scalar_loss<P.loss>((sum.x + sum.y) + (sum.z + sum.w), target.target, work.huber_delta);
        losses[half] = loss.loss * target.weight;
        slopes[half] = loss.slope * target.weight * per_row;
        d[2 * half] = slopes[half] * wx[i].x;
        d[2 * half + 1] = slopes[half] * wx[i].y;
      }
      if constexpr (P.is_relu()) {
        const float scale = P.has_dropout ? dropout_scale : 1.0F;
#pragma unroll
        for (int k = 0; k < 4; ++k) d[k] = c[i][k] > 0 ? d[k] * scale : 0.0F;
      } else {
        through_activation<H>(d, tile_row, tile_column, step);
      }
      if constexpr (H == 1) {
        first_delta[i >> 1][i & 1][0] = pack(d[0], d[1]);
        first_delta[i >> 1][i & 1][1] = pack(d[2], d[3]);
      } else {
        put<P.d_stride(H)>(P.d_at(H) + tile_at<P.d_stride(H)>(tile_row, tile_column), d);
      }
      if (tile_column == 0 && (lane & 3) == 0) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = tile_row * 16 + group + half * 8;
          reinterpret_cast<Word*>(shared + P.out_delta_at())[row * 4] = pack(slopes[half], 0.0F);
          reinterpret_cast<double*>(shared + P.sums_at())[row] += losses[half];
        }
      }
    }
  }

  // ---- output and loss, several classes: sixteen lanes a row
  __device__ __forceinline__ void class_output(int step) {
    constexpr int L = P.layers - 1;
    constexpr int classes = P.width[P.layers];
    float* logits = floats(P.logits_at());
    for (int unit = warp; unit < 2 * P.columns(L); unit += warps) {
      const int tile_row = unit / P.columns(L), tile_column = unit % P.columns(L);
      float c[4];
      forward_tile<L>(c, tile_row, tile_column, step);
      float* to = logits + (tile_row * 16 + group) * P.logit_stride() + tile_column * 8 + pair;
      to[0] = c[0], to[1] = c[1];
      to[8 * P.logit_stride()] = c[2], to[8 * P.logit_stride() + 1] = c[3];
    }
    __syncthreads();
    const int row = thread >> 4, first = thread & 15;
    const RowTarget target = targets(step)[row];
    const int wanted = static_cast<int>(target.target);
    float most = __int_as_float(static_cast<int>(0xff800000U));
    for (int i = first; i < classes; i += 16) most = fmaxf(most, logits[row * P.logit_stride() + i]);
#pragma unroll
    for (int away = 1; away < 16; away *= 2) most = fmaxf(most, __shfl_xor_sync(~0U, most, away));
    float sum = 0;
    for (int i = first; i < classes; i += 16) sum += __expf(logits[row * P.logit_stride() + i] - most);
#pragma unroll
    for (int away = 1; away < 16; away *= 2) sum += __shfl_xor_sync(~0U, sum, away);
    for (int i = first; i < P.breadth(L); i += 16) {
      float slope = 0;
      if (i < classes) {
        const float share = __fdividef(__expf(logits[row * P.logit_stride() + i] - most), sum);
        slope = (share - (i == wanted ? 1.0F : 0.0F)) * target.weight * step_factors(step).per_row;
      }
      const float next = __shfl_down_sync(~0U, slope, 1);
      if ((first & 1) == 0)
        *reinterpret_cast<Word*>(shared + P.d_at(P.layers) + (row * P.d_stride(P.layers) + i) * 2) =
            pack(slope, next);
    }
    if (first == 0) {
      const float loss = __logf(sum) - (logits[row * P.logit_stride() + wanted] - most);
      reinterpret_cast<double*>(shared + P.sums_at())[row] += loss * target.weight;
    }
  }

  // ---- backward
  // c = deltas of layer H + 1 times the transposed matrix H, a tile of [rows, width H].
  template <int H>
  __device__ __forceinline__ void delta_tile(float (&c)[4], int tile_row, int tile_column, int step) const {
    constexpr int deep = P.breadth(H);
    const Word d_from =
        by_rows<P.d_stride(H + 1)>() + P.d_at(H + 1) + tile_at<P.d_stride(H + 1)>(tile_row, 0);
    const Word w_from = across<P.w_stride(H)>() + w_at<H>(step) + tile_column * 8 * P.w_stride(H) * 2;
    float other[4] = {0, 0, 0, 0};
    c[0] = c[1] = c[2] = c[3] = 0;
#pragma unroll
    for (int k = 0; k + 32 <= deep; k += 32) {
      Word b[4], a[4];
      load_matrices(b, w_from + k * 2);
      load_matrices(a, d_from + k * 2);
      multiply_add(c, a, b[0], b[1]);
      load_matrices(a, d_from + (k + 16) * 2);
      multiply_add(other, a, b[2], b[3]);
    }
    if constexpr (deep % 32 != 0) {
      Word b[2], a[4];
      load_matrices(b, w_from + (deep - 16) * 2);
      load_matrices(a, d_from + (deep - 16) * 2);
      multiply_add(c, a, b[0], b[1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] += other[i];
  }

  template <int H>
  __device__ __forceinline__ void delta(int step) const {
    constexpr int columns = P.columns(H - 1);
#pragma unroll
    for (int i = 0; i < divide_up(2 * columns, warps); ++i) {
      const int unit = warp + i * warps;
      if ((2 * columns) % warps != 0 && unit >= 2 * columns) break;
      const int tile_row = unit / columns, tile_column = unit % columns;
      float c[4];
      delta_tile<H>(c, tile_row, tile_column, step);
      through_activation<H>(c, tile_row, tile_column, step);
      put<P.d_stride(H)>(P.d_at(H) + tile_at<P.d_stride(H)>(tile_row, tile_column), c);
    }
  }

  Word first_delta[P.first_columns()][2][2];  // [column][16 rows][8 rows]: packed, as mma leaves them
  __device__ __forceinline__ void delta_first(int step) {
    if constexpr (P.top() > 1) {
#pragma unroll
      for (int i = 0; i < P.first_columns(); ++i) {
        const int tile_column = warp + i * warps;
        if (P.columns(0) % warps != 0 && tile_column >= P.columns(0)) break;
        float c[2][4];
        delta_rows<1>(c, tile_column, step);
#pragma unroll
        for (int tile_row = 0; tile_row < 2; ++tile_row) {
          through_activation<1>(c[tile_row], tile_row, tile_column, step);
          first_delta[i][tile_row][0] = pack(c[tile_row][0], c[tile_row][1]);
          first_delta[i][tile_row][1] = pack(c[tile_row][2], c[tile_row][3]);
        }
      }
    }
  }
  // What delta_tile does, for all rows: the weights are read once.
  template <int H>
  __device__ __forceinline__ void delta_rows(float (&c)[2][4], int tile_column, int step) const {
    constexpr int deep = P.breadth(H), stride = P.d_stride(H + 1);
    const Word d_from = by_rows<stride>() + P.d_at(H + 1);
    const Word w_from = across<P.w_stride(H)>() + w_at<H>(step) + tile_column * 8 * P.w_stride(H) * 2;
#pragma unroll
    for (int i = 0; i < 8; ++i) c[i / 4][i % 4] = 0;
#pragma unroll
    for (int k = 0; k < deep; k += 32) {
      const bool whole = k + 32 <= deep;
      Word b[4];
      if (whole) {
        load_matrices(b, w_from + k * 2);
      } else {
        Word half[2];
        load_matrices(half, w_from + k * 2);
        b[0] = half[0], b[1] = half[1];
      }
#pragma unroll
      for (int tile_row = 0; tile_row < 2; ++tile_row) {
        const Word from = d_from + tile_at<stride>(tile_row, 0) + k * 2;
        Word a[4];
        load_matrices(a, from);
        multiply_add(c[tile_row], a, b[0], b[1]);
        if (whole) {
          load_matrices(a, from + 32);
          multiply_add(c[tile_row], a, b[2], b[3]);
        }
      }
    }
  }
  __device__ __forceinline__ void gradient_first(int step) {
#pragma unroll
    for (int i = 0; i < P.first_columns(); ++i) {
      if (P.columns(0) % warps != 0 && warp + i * warps >= P.columns(0)) break;
      Word b[4];
#pragma unroll
      for (int part = 0; part < 4; ++part) b[part] = transpose(first_delta[i][part >> 1][part & 1]);
#pragma unroll
      for (int k = 0; k < P.first_tiles(); ++k) {
        float c[4] = {0, 0, 0, 0};
        Word a[4];
        const Word from = turned<P.x_stride()>() + x_at(step) + k * 32;
        load_transposed(a, from);
        multiply_add(c, a, b[0], b[1]);
        load_transposed(a, from + 16 * P.x_stride() * 2);
        multiply_add(c, a, b[2], b[3]);
        self().template settle_tile<0>(i * P.first_tiles() + k, k, warp + i * warps, c, step);
      }
    }
  }
  // Matrix L: the gradients of this warp's tiles.
  template <int L>
  __device__ __forceinline__ void gradient_of(int step) {
    constexpr int owned = P.owned(L), columns = P.columns(L), tiles = P.tiles(L);
    Word upper[4], lower[4];
#pragma unroll
    for (int i = 0; i < owned; ++i) {
      const int tile = (warp - P.home(L).warp) * owned + i;
      if (owned * warps != tiles && (tile < 0 || tile >= tiles)) break;
      const int tile_row = tile / columns, tile_column = tile % columns;
      if (i == 0 || columns % owned != 0) {
        const Word from = turned<P.a_stride(L)>() + a_at<L>(step) + tile_row * 32;
        load_transposed(upper, from);
        load_transposed(lower, from + 16 * P.a_stride(L) * 2);
      }
      Word b[4];
      load_transposed(b, down<P.d_stride(L + 1)>() + P.d_at(L + 1) + tile_column * 16);
      float c[4] = {0, 0, 0, 0};
      multiply_add(c, upper, b[0], b[1]);
      multiply_add(c, lower, b[2], b[3]);
      self().template settle_tile<L>(P.owned_at(L) + i, tile_row, tile_column, c, step);
    }
    bias_gradient<L>(down<P.d_stride(L + 1)>() + P.d_at(L + 1));
  }

  // Sums of the deltas' columns: a product with ones.
  template <int L>
  __device__ __forceinline__ void bias_gradient(Word deltas_of_row) {
    constexpr int unit = P.bias_unit_at(L), count = P.bias_unit_at(L + 1) - unit;
#pragma unroll
    for (int slot = unit / warps; slot <= (unit + count - 1) / warps; ++slot) {
      const int tile_column = slot * warps + warp - unit;
      if (tile_column < 0 || tile_column >= count) continue;
      Word b[4];
      load_transposed(b, deltas_of_row + tile_column * 16);
      const Word ones[4] = {0x3c003c00U, 0x3c003c00U, 0x3c003c00U, 0x3c003c00U};
      float c[4] = {0, 0, 0, 0};
      multiply_add(c, ones, b[0], b[1]);
      multiply_add(c, ones, b[2], b[3]);
      // Eight lanes hold the same two sums.
      if (group == 0) self().template settle_bias<L>(tile_column * 8 + pair, c[0], c[1]);
    }
  }

  // The weights of one output: the same product with a single column of deltas.
  __device__ __forceinline__ void output_gradient(int step) {
    constexpr int H = P.hidden();
#pragma unroll
    for (int slot = 0; slot < P.out_slots(); ++slot) {
      const int tile_row = slot * warps + (warps - 1 - warp);
      if (tile_row >= P.last() / 16) break;
      Word b[4], a[4];
      load_transposed(b, base + P.out_delta_at() + lane * 16);
      const Word from = turned<P.a_stride(H)>() + a_at<H>(step) + tile_row * 32;
      float c[4] = {0, 0, 0, 0};
      load_transposed(a, from);
      multiply_add(c, a, b[0], b[1]);
      load_transposed(a, from + 16 * P.a_stride(H) * 2);
      multiply_add(c, a, b[2], b[3]);
      if ((lane & 3) == 0) self().settle_output(tile_row * 16 + group, c[0], c[2]);
    }
    bias_gradient<P.layers - 1>(base + P.out_delta_at() + lane * 16);
  }

  // Deltas of layers H .. 2, each after the one above it.
  template <int H>
  __device__ __forceinline__ void deltas_from(int step) const {
    if constexpr (H >= 2) {
      delta<H>(step);
      __syncthreads();
      deltas_from<H - 1>(step);
    }
  }
  // Gradients of all matrices but the first. They need nothing of each other, so they come last, where their
  // arithmetic fills the gaps of what waits.
  template <int L>
  __device__ __forceinline__ void gradients_up_from(int step) {
    if constexpr (L < P.top()) {
      gradient_of<L>(step);
      gradients_up_from<L + 1>(step);
    } else if constexpr (P.scalar()) {
      output_gradient(step);
    }
  }

  // ---- the state in device memory
  // Vectors in shared memory: biases and the weights of a single output.
  template <int L, class Visit>
  __device__ __forceinline__ void each_vector(Visit&& visit) {
    if constexpr (L < P.layers) {
      visit(P.bias_at(L), P.b_at(L), P.breadth(L), P.bias_bytes(L));
      each_vector<L + 1>(visit);
    } else if constexpr (P.scalar()) {
      visit(P.matrix_at(P.hidden()), P.out_weights_at(), P.last(), P.last() * 4);
    }
  }

  __device__ __forceinline__ void clear_shared() {
    for (int i = thread; i < P.shared_bytes() / 4; i += threads) reinterpret_cast<Word*>(shared)[i] = 0;
    __syncthreads();
  }
  // Matrices as the tensor cores read them.
  template <int L>
  __device__ __forceinline__ void fill_shared() {
    if constexpr (L < P.matrices()) {
      for (int i = thread; i < P.depth(L) * P.breadth(L) / 2; i += threads) {
        const int row = 2 * i / P.breadth(L), column = 2 * i % P.breadth(L);
        const float* from = work.parameters + P.matrix_at(L) + 2 * i;
        *reinterpret_cast<Word*>(shared + w_at<L>(0) + (row * P.w_stride(L) + column) * 2) =
            pack(from[0], from[1]);
      }
      fill_shared<L + 1>();
    }
  }
  __device__ __forceinline__ void take_factors(int step) {
    const StepFactors& of = step_factors(step);
    factors.rate = of.rate;
    factors.keep = of.keep;
  }
  __device__ __forceinline__ void take_settings() {
    factors.beta1 = work.beta1;
    factors.beta2 = work.beta2;
    factors.epsilon = work.epsilon;
    factors.decay = work.weight_decay;
    factors.unscale = work.unscale;
  }

  // The last hidden layer, the loss and its deltas.
  __device__ __forceinline__ void output(int step) {
    constexpr bool looked_ahead = P.ahead_layer() != 0, has_idle = P.busy_warps() < warps;
    if constexpr (!P.scalar()) {
      class_output(step);
    } else if (!has_idle || warp < P.busy_warps()) {
      scalar_output(step);
    }
    if constexpr (!looked_ahead && !has_idle) {
      look_ahead<0>(step);
    } else if constexpr (!looked_ahead) {
      if (warp >= P.busy_warps()) look_ahead<P.busy_warps()>(step);
    } else if constexpr (P.draws_twice()) {
      if (warp >= P.busy_warps()) {
        draw_masks<P.busy_warps()>(step + 1, 1, 2);
        look_up_key(step + 2);
      }
    }
  }
  __device__ __forceinline__ void begin() {
    look_up(0);
    fetch(0);
    look_up(1);
    fetch(1);
    look_up(2);
    look_up_key(0);
    draw_masks<0>(0, 0, 1);
    look_up_key(1);
    wait_for_copies<1>();
    __syncthreads();
    take_masks(0);
    forward_first(0);
    __syncthreads();
  }
};

}  // namespace stoker::fused
