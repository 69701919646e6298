#pragma once

#include "fused/cuda/warpgroups/duet.cuh"

// Duet: rows and dropout of steps to come.
namespace stoker::fused {

template <class Net>
__device__ __forceinline__ void Duet<Net>::look_up(Ahead& ahead, int step) const {
#pragma unroll
  for (int round = 0; round < fetch_rounds; ++round) {
    const int unit = fetch_unit(round);
    ahead.rows_of[round] =
        unit < fetches - 1 && step < work.steps ? work.order[step * work.order_stride + row_of(unit)] : -1;
  }
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::fetch(const Ahead& ahead, int step) const {
#pragma unroll
  for (int round = 0; round < fetch_rounds; ++round) {
    const int unit = fetch_unit(round), row = row_of(unit);
    const bool is_there = ahead.rows_of[round] >= 0;
    const std::int64_t from = is_there ? ahead.rows_of[round] : 0;
    if (unit < rows * pieces) {
      const int piece = unit % pieces;
      copy_16(x_at(step) + row / 8 * D.x_down() + piece * 128 + row % 8 * 16,
              work.features + from * P.depth(0) + piece * 8, is_there ? 16 : 0);
    } else if (unit < fetches - 1) {
      copy_8(shared_address(targets(step) + row), work.targets + from, is_there ? 8 : 0);
    } else if (unit == fetches - 1 && step < work.steps) {
      copy_16(shared_address(&step_factors(step)), work.factors + step, 16);
    }
  }
  end_copies();
}

template <class Net>
template <int H>
__device__ __forceinline__ void Duet<Net>::draw(Word shared_key, int step) const {
  if constexpr (P.has_dropout && H < P.layers) {
    constexpr int first_warp = 8, with = warps - first_warp;
    constexpr int width = P.width[H], pairs = divide_up(width, 2);
    const auto number = static_cast<std::uint64_t>(work.first_step + step);
    const auto high = static_cast<Word>(number >> 32) | (static_cast<Word>(H - 1) << 16);
    const RandomKey key{shared_key, mix(high + shared_key + 0x85ebca6bU)};
    const Word limit = work.dropout_threshold << 16;
#pragma unroll
    for (int i = 0; i < divide_up(pairs, with); ++i) {
      const int two = warp - first_warp + i * with;
      if (pairs % with != 0 && two >= pairs) break;
      bool one, other;
      if constexpr (width % 2 == 0) {
        const Word hash = random_bits(key, static_cast<Word>(lane * (width / 2) + two));
        one = (hash << 16) >= limit;
        other = hash >= limit;
      } else {
        const Word element = static_cast<Word>(lane * width + two * 2);
        one = !dropped(random_bits(key, element >> 1), element, work.dropout_threshold);
        other = two * 2 + 1 < width &&
                !dropped(random_bits(key, (element + 1) >> 1), element + 1, work.dropout_threshold);
      }
      const uint2 words = make_uint2(__ballot_sync(~0U, one), __ballot_sync(~0U, other));
      if (lane == 0) *reinterpret_cast<uint2*>(masks<H>(step) + two * 2) = words;
    }
    draw<H + 1>(shared_key, step);
  }
}

}  // namespace stoker::fused
