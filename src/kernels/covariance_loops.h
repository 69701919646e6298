#pragma once

#include "kernels/covariance_vectors.h"

// The loops of covariance_block.h, in the vectors of one instruction set.
namespace stoker::kernels {
namespace {

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int tile = 5;  // channels by channels that a tile of products has in registers
#else
constexpr int tile = 3;
#endif

typedef std::int32_t I __attribute__((vector_size(4 * lanes)));
typedef float Four __attribute__((vector_size(16)));
typedef Four FourAnywhere __attribute__((aligned(4), may_alias));

STOKER_INLINE float sum_of(V value) {
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) value[i] += value[i + half];
  return value[0];
}

#if defined(__AVX512F__)
STOKER_INLINE __m512 added_halves(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
}
STOKER_INLINE __m512 added_quarters(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}
STOKER_INLINE __m512 added_pairs(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}
// The sums of as many vectors as one has lanes, each added up as sum_of does.
STOKER_INLINE void sums_of_vectors(const V* values, float* to) {
  __m512 v[16];
  for (int i = 0; i < 16; ++i) v[i] = reinterpret_cast<__m512>(values[i]);
  for (int i = 0; i < 8; ++i) v[i] = added_halves(v[i], v[i + 8]);
  for (int i = 0; i < 4; ++i) v[i] = added_quarters(v[i], v[i + 4]);
  for (int i = 0; i < 2; ++i) v[i] = added_pairs(v[i], v[i + 2]);
  v[0] = added_pairs(v[0], v[1]);
  _mm512_storeu_ps(to, _mm512_shuffle_f32x4(v[0], v[0], 0xD8));
}
#elif defined(__AVX2__)
STOKER_INLINE __m256 added_halves(__m256 a, __m256 b) {
  return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}
STOKER_INLINE __m256 added_pairs(__m256 a, __m256 b) {
  return _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
}
STOKER_INLINE void sums_of_vectors(const V* values, float* to) {
  __m256 v[8];
  for (int i = 0; i < 8; ++i) v[i] = reinterpret_cast<__m256>(values[i]);
  for (int i = 0; i < 4; ++i) v[i] = added_halves(v[i], v[i + 4]);
  for (int i = 0; i < 2; ++i) v[i] = added_pairs(v[i], v[i + 2]);
  _mm256_storeu_ps(to, added_pairs(v[0], v[1]));
}
#else
STOKER_INLINE void sums_of_vectors(const V* values, float* to) {
  for (int i = 0; i < lanes; ++i) to[i] = sum_of(values[i]);
}
#endif

// Four channels of one row to each part of four lanes: rows `row`, row + 4, row + 8 …
STOKER_INLINE V load_parts(const float* from, std::int64_t channels) {
#if defined(__AVX512F__)
  const __m128 last = _mm_loadu_ps(from + 12 * channels);
  __m512 value = _mm512_castps128_ps512(_mm_loadu_ps(from));
  value = _mm512_insertf32x4(value, _mm_loadu_ps(from + 4 * channels), 1);
  value = _mm512_insertf32x4(value, _mm_loadu_ps(from + 8 * channels), 2);
  return reinterpret_cast<V>(_mm512_insertf32x4(value, last, 3));
#elif defined(__AVX2__)
  const __m256 first = _mm256_castps128_ps256(_mm_loadu_ps(from));
  return reinterpret_cast<V>(_mm256_insertf128_ps(first, _mm_loadu_ps(from + 4 * channels), 1));
#else
  (void)channels;
  return *reinterpret_cast<const FourAnywhere*>(from);
#endif
}

STOKER_INLINE V repeated(const float* from) {
#if defined(__AVX512F__)
  return reinterpret_cast<V>(_mm512_broadcast_f32x4(_mm_loadu_ps(from)));
#elif defined(__AVX2__)
  return reinterpret_cast<V>(_mm256_broadcast_ps(reinterpret_cast<const __m128*>(from)));
#else
  return *reinterpret_cast<const FourAnywhere*>(from);
#endif
}

// Within each part of four lanes: rows become columns.
STOKER_INLINE void turn(V v[4]) {
#if defined(__AVX512F__)
  constexpr I low{0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29};
  constexpr I high{2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31};
  constexpr I first{0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29};
  constexpr I second{2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31};
#elif defined(__AVX2__)
  constexpr I low{0, 8, 1, 9, 4, 12, 5, 13};
  constexpr I high{2, 10, 3, 11, 6, 14, 7, 15};
  constexpr I first{0, 1, 8, 9, 4, 5, 12, 13};
  constexpr I second{2, 3, 10, 11, 6, 7, 14, 15};
#else
  constexpr I low{0, 4, 1, 5};
  constexpr I high{2, 6, 3, 7};
  constexpr I first{0, 1, 4, 5};
  constexpr I second{2, 3, 6, 7};
#endif
  const V a = __builtin_shuffle(v[0], v[1], low);
  const V b = __builtin_shuffle(v[2], v[3], low);
  const V c = __builtin_shuffle(v[0], v[1], high);
  const V d = __builtin_shuffle(v[2], v[3], high);
  v[0] = __builtin_shuffle(a, b, first);
  v[1] = __builtin_shuffle(a, b, second);
  v[2] = __builtin_shuffle(c, d, first);
  v[3] = __builtin_shuffle(c, d, second);
}

// What is known so far of four channels: of each vector, the parts of four lanes are those of different rows.
struct Seen {
  V least, most, sums;
};

STOKER_INLINE void write_seen(const CovarianceBlock& block, std::int64_t channel, const Seen& seen) {
  for (int i = 0; i < 4; ++i) {
    float low = seen.least[i];
    float high = seen.most[i];
    float sum = seen.sums[i];
    for (int part = 1; part < lanes / 4; ++part) {
      low = seen.least[4 * part + i] < low ? seen.least[4 * part + i] : low;
      high = seen.most[4 * part + i] > high ? seen.most[4 * part + i] : high;
      sum += seen.sums[4 * part + i];
    }
    block.least[channel + i] = low;
    block.most[channel + i] = high;
    block.sums[channel + i] = sum;
  }
}

// Rows [first, rows) of one channel, one by one: what vectors leave over.
STOKER_INLINE void pack_rest(const CovarianceBlock& block, std::int64_t channel, std::int64_t first) {
  float* to = block.packed + channel * block.stride;
  for (std::int64_t row = first; row < block.rows; ++row) {
    const float value = block.pixels[row * block.channels + channel];
    const float shifted = value - block.shift[channel];
    block.least[channel] = value < block.least[channel] ? value : block.least[channel];
    block.most[channel] = value > block.most[channel] ? value : block.most[channel];
    block.sums[channel] += shifted;
    to[row] = shifted;
  }
  for (std::int64_t row = block.rows; row < block.filled(); ++row) to[row] = 0;
}

// Rows [first, last) of four channels from `channel` on; `ahead` is what will be read next.
STOKER_INLINE void pack_four(const CovarianceBlock& block, std::int64_t channel, std::int64_t first,
                             std::int64_t last, const float* ahead, Seen& kept) {
  const std::int64_t channels = block.channels;
  const std::int64_t stride = block.stride;
  const V shift = repeated(block.shift + channel);
  const float* from = block.pixels + first * channels + channel;
  float* to = block.packed + channel * stride + first;
  Seen seen = kept;
  for (std::int64_t row = first; row < last;
       row += lanes, from += lanes * channels, to += lanes, ahead += 4 * lanes) {
    V v[4];
    for (int line = 0; line < lanes / 4; ++line) __builtin_prefetch(ahead + 16 * line);
    for (int i = 0; i < 4; ++i) v[i] = load_parts(from + i * channels, channels);
    seen.least = smaller(smaller(smaller(v[0], v[1]), smaller(v[2], v[3])), seen.least);
    seen.most = larger(larger(larger(v[0], v[1]), larger(v[2], v[3])), seen.most);
    for (int i = 0; i < 4; ++i) v[i] -= shift;
    seen.sums += (v[0] + v[1]) + (v[2] + v[3]);
    turn(v);
    for (int i = 0; i < 4; ++i) store(to + i * stride, v[i]);
  }
  kept = seen;
}

// Few rows at a time, so that they are still in the first cache when their last channels are read. The last
// four channels may overlap those before.
void pack_block(const CovarianceBlock& block) {
  constexpr std::int64_t at_once = 128;
  const std::int64_t whole = block.channels < 4 ? 0 : block.rows - block.rows % lanes;
  const std::int64_t fours = whole > 0 ? (block.channels + 3) / 4 : 0;
  Seen* seen = reinterpret_cast<Seen*>(block.seen);
  const auto channel_of = [&](std::int64_t four) {
    return 4 * four + 4 <= block.channels ? 4 * four : block.channels - 4;
  };
  for (std::int64_t four = 0; four < fours; ++four) {
    const V first = load_parts(block.pixels + channel_of(four), block.channels);
    seen[four] = {first, first, V{}};
  }
  for (std::int64_t row = 0; row < whole; row += at_once) {
    const float* ahead = block.pixels + (row + at_once) * block.channels;
    for (std::int64_t four = 0; four < fours; ++four, ahead += at_once * 4)
      pack_four(block, channel_of(four), row, row + at_once < whole ? row + at_once : whole, ahead,
                seen[four]);
  }
  for (std::int64_t four = 0; four < fours; ++four) write_seen(block, channel_of(four), seen[four]);
  for (std::int64_t channel = 0; channel < block.channels; ++channel) {
    if (whole == 0) {
      block.least[channel] = block.most[channel] = block.pixels[channel];
      block.sums[channel] = 0;
    }
    pack_rest(block, channel, whole);
  }
}

// Products of `Left` channels with `Right` others; of a tile on the diagonal, those at or behind it.
template <int Left, int Right, bool OnDiagonal>
STOKER_INLINE void multiply_tile(const CovarianceBlock& block, std::int64_t left, std::int64_t right,
                                 Fetch fetch) {
  const float* a = block.packed + left * block.stride;
  const float* b = block.packed + right * block.stride;
  const std::int64_t filled = block.filled();
  V sums[Left][Right] = {};
  for (std::int64_t row = 0; row < filled; row += lanes, fetch.from += fetch.step) {
    if constexpr (lanes >= 8) __builtin_prefetch(fetch.from);
    V of_left[Left];
    for (int i = 0; i < Left; ++i) of_left[i] = load(a + i * block.stride + row);
    for (int j = 0; j < Right; ++j) {
      const V of_right = OnDiagonal ? of_left[j] : load(b + j * block.stride + row);
      for (int i = 0; i < (OnDiagonal ? j + 1 : Left); ++i) sums[i][j] += of_left[i] * of_right;
    }
  }
  // One behind the other, with nothing behind the last.
  constexpr int count = OnDiagonal ? Left * (Left + 1) / 2 : Left * Right;
  constexpr int groups = (count + lanes - 1) / lanes;
  V all[groups * lanes] = {};
  float added[groups * lanes];
  int next = 0;
  for (int i = 0; i < Left; ++i)
    for (int j = OnDiagonal ? i : 0; j < Right; ++j) all[next++] = sums[i][j];
  for (int group = 0; group < groups; ++group) sums_of_vectors(all + group * lanes, added + group * lanes);
  next = 0;
  for (int i = 0; i < Left; ++i)
    for (int j = OnDiagonal ? i : 0; j < Right; ++j)
      block.products[(left + i) * block.channels + right + j] = static_cast<double>(added[next++]);
}

// The channels behind the last whole tile, with all before them and with each other.
template <int Rest>
STOKER_INLINE void multiply_rest(const CovarianceBlock& block, std::int64_t whole, Fetch nothing) {
  if constexpr (Rest > 0) {
    if (block.channels - whole != Rest) return multiply_rest<Rest - 1>(block, whole, nothing);
    for (std::int64_t left = 0; left < whole; left += tile)
      multiply_tile<tile, Rest, false>(block, left, whole, nothing);
    multiply_tile<Rest, Rest, true>(block, whole, whole, nothing);
  }
}

void multiply_block(const CovarianceBlock& block) {
  const std::int64_t whole = block.channels - block.channels % tile;
  const std::int64_t vectors = whole / tile * (whole / tile + 1) / 2 * (block.filled() / lanes);
  Fetch fetch{block.packed, 0};
  if (block.ahead != nullptr && vectors > 0)
    fetch = {block.ahead, (block.ahead_count + vectors - 1) / vectors};
  const std::int64_t of_tile = fetch.step * (block.filled() / lanes);
  for (std::int64_t left = 0; left < whole; left += tile) {
    multiply_tile<tile, tile, true>(block, left, left, fetch);
    fetch.from += of_tile;
    for (std::int64_t right = left + tile; right < whole; right += tile, fetch.from += of_tile)
      multiply_tile<tile, tile, false>(block, left, right, fetch);
  }
  multiply_rest<tile - 1>(block, whole, {block.packed, 0});
}

void sum_up_by_channels(const CovarianceBlock& block) {
  pack_block(block);
  multiply_block(block);
}

// Of sixteen rows, `Outputs` sums over the channels.
template <int Outputs>
STOKER_INLINE void project_rows(const CovarianceBlock& block, const float* matrix, std::int64_t outputs,
                                std::int64_t row, std::int64_t output) {
  constexpr int vectors = covariance_lanes / lanes;
  V sums[Outputs][vectors];
  const float* offset = matrix + block.channels * outputs + output;
  for (int i = 0; i < Outputs; ++i)
    for (int v = 0; v < vectors; ++v) sums[i][v] = offset[i] - V{};
  const float* from = block.packed + row;
  const float* factors = matrix + output;
  for (std::int64_t channel = 0; channel < block.channels;
       ++channel, from += block.stride, factors += outputs) {
    V values[vectors];
    for (int v = 0; v < vectors; ++v) values[v] = load(from + v * lanes);
    for (int i = 0; i < Outputs; ++i)
      for (int v = 0; v < vectors; ++v) sums[i][v] += factors[i] * values[v];
  }
  float* to = block.packed + (block.channels + output) * block.stride + row;
  for (int i = 0; i < Outputs; ++i)
    for (int v = 0; v < vectors; ++v) store(to + i * block.stride + v * lanes, sums[i][v]);
}

void project_block(const CovarianceBlock& block, const float* matrix, std::int64_t outputs) {
  constexpr int at_once = lanes == 16 ? 10 : 5;
  for (std::int64_t row = 0; row < block.filled(); row += covariance_lanes)
    for (std::int64_t output = 0; output < outputs; output += at_once)
      project_rows<at_once>(block, matrix, outputs, row, output);
}

template <int Left>
STOKER_INLINE void multiply_with_all(const CovarianceBlock& block, std::int64_t left, std::int64_t first) {
  for (std::int64_t right = first; right < block.channels; right += 5)
    multiply_tile<Left, 5, false>(block, left, right, {block.packed, 0});
}

void multiply_between_block(const CovarianceBlock& block, std::int64_t first) {
  constexpr int at_once = tile == 5 ? 5 : 2;
  std::int64_t left = 0;
  for (; left + at_once <= first; left += at_once) multiply_with_all<at_once>(block, left, first);
  for (; left < first; ++left) multiply_with_all<1>(block, left, first);
}

}  // namespace
}  // namespace stoker::kernels
