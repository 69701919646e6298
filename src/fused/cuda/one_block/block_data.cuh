#pragma once

#include "fused/cuda/one_block/block.cuh"

// Block: what it fetches, draws, keeps in shared memory and begins with.
namespace stoker::fused {

template <class Net, class Self>
__device__ __forceinline__ int Block<Net, Self>::row_of(int unit) {
  return unit < rows * pieces ? unit / pieces : unit - rows * pieces;
}

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::look_up(int step) {
#pragma unroll
  for (int round = 0; round < fetch_rounds; ++round) {
    const int unit = fetch_unit(round);
    next_rows[round] = unit < fetches - 1 && step < work.steps * passes
                           ? work.order[step_of(step) * work.order_stride + first_row(step) + row_of(unit)]
                           : -1;
  }
}

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::fetch(int step) {
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

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::draw_layers(Word shared_key, std::int64_t step, int row,
                                                              int of_warp,
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

template <class Net, class Self>
__device__ __forceinline__ Word* Block<Net, Self>::masks(int step) const {
  return reinterpret_cast<Word*>(shared + P.masks_at()) + (step & 1) * P.mask_words() * threads;
}

template <class Net, class Self>
template <int FirstWarp>
__device__ __forceinline__ void Block<Net, Self>::draw_masks(int step, int first_round, int end_round) const {
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

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::take_masks(int step) {
#pragma unroll
  for (int word = 0; word < P.mask_words(); ++word) mask[word] = masks(step)[word * threads + thread];
}

template <class Net, class Self>
template <int L, class Visit>
__device__ __forceinline__ void Block<Net, Self>::each_vector(Visit&& visit) {
  if constexpr (L < P.layers) {
    visit(P.bias_at(L), P.b_at(L), P.breadth(L), P.bias_bytes(L));
    each_vector<L + 1>(visit);
  } else if constexpr (P.scalar()) {
    visit(P.matrix_at(P.hidden()), P.out_weights_at(), P.last(), P.last() * 4);
  }
}

template <class Net, class Self>
template <int L>
__device__ __forceinline__ void Block<Net, Self>::fill_shared() {
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

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::take_settings() {
  factors.beta1 = work.beta1;
  factors.beta2 = work.beta2;
  factors.epsilon = work.epsilon;
  factors.decay = work.weight_decay;
  factors.unscale = work.unscale;
}

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::output(int step) {
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

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::begin() {
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

}  // namespace stoker::fused
