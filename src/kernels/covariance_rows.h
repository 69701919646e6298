#pragma once

#include "kernels/covariance_vectors.h"

// Products of channels for vectors of 16 lanes that hold neighbouring channels of one pixel. Pixels stay laid
// as they come, nothing is turned, and no lanes are added up: channels of a pixel, one by one, are multiplied
// with whole vectors of its channels. Products below the diagonal are computed for nothing within these
// vectors, and of the channels that fill no vector with all others: of 16 channels 53 % of the products are
// needed, of 50 77 %.
namespace stoker::kernels {
namespace {

static_assert(lanes == 16, "tiles are as large as the registers of AVX-512 have room for");

constexpr std::int64_t rows_at_once = covariance_rows_at_once;
constexpr std::int64_t rows_ahead = 4 * rows_at_once;
// In fp32: of products that are all alike and so rounded alike, sums are within 0.85e-6 then.
constexpr std::int64_t rows_added_up = 16 * rows_at_once;
constexpr int singles = 8;  // channels that a tile takes one by one; half a vector

// The first `count` numbers, then zeros; nothing behind them is touched.
STOKER_INLINE V load_first(const float* from, std::int64_t count) {
  const auto mask = static_cast<__mmask16>((1U << static_cast<unsigned>(count)) - 1U);
  return reinterpret_cast<V>(_mm512_maskz_loadu_ps(mask, from));
}

// As many as leave registers for the vectors themselves and one single channel.
template <int Singles>
constexpr int vectors_together() {
  constexpr int sums = 24;
  return sums / Singles < 6 ? sums / Singles : 6;
}

template <int Singles, int Vectors, class Visit>
STOKER_INLINE void visit_last_tile(std::int64_t channel, std::int64_t vector, std::int64_t end,
                                   const Visit& visit) {
  if constexpr (Vectors > 0) {
    if (end - vector == Vectors) return visit.template operator()<Singles, Vectors>(channel, vector);
    visit_last_tile<Singles, Vectors - 1>(channel, vector, end, visit);
  }
}

// Calls visit<Singles, Vectors>(channel, vector) for every tile of Singles channels from `channel` on, and of
// Vectors vectors of lanes from `vector` on below `end`.
template <int Singles, class Visit>
STOKER_INLINE void visit_row_of_tiles(std::int64_t channel, std::int64_t vector, std::int64_t end,
                                      const Visit& visit) {
  constexpr int together = vectors_together<Singles>();
  for (; vector + together <= end; vector += together)
    visit.template operator()<Singles, together>(channel, vector);
  visit_last_tile<Singles, together - 1>(channel, vector, end, visit);
}

template <int Singles, class Visit>
STOKER_INLINE void visit_last_tiles(std::int64_t channel, std::int64_t count, std::int64_t end,
                                    const Visit& visit) {
  if constexpr (Singles > 0) {
    if (count != Singles) return visit_last_tiles<Singles - 1>(channel, count, end, visit);
    visit_row_of_tiles<Singles>(channel, 0, end, visit);
  }
}

constexpr std::int64_t vectors_for(std::int64_t channels) {
  return (channels + lanes - 1) / lanes;
}

// Channels of whole vectors with the vectors from their own on; those left over with all vectors.
template <class Visit>
STOKER_INLINE void visit_tiles(std::int64_t channels, const Visit& visit) {
  const std::int64_t whole = channels / lanes;
  for (std::int64_t channel = 0; channel < whole * lanes; channel += singles)
    visit_row_of_tiles<singles>(channel, channel / lanes, whole, visit);
  std::int64_t channel = whole * lanes;
  for (; channel + singles <= channels; channel += singles)
    visit_row_of_tiles<singles>(channel, 0, vectors_for(channels), visit);
  visit_last_tiles<singles - 1>(channel, channels - channel, vectors_for(channels), visit);
}

// Some rows of a block, what is known so far of its channels, and what their products come to.
struct LaidRows {
  const float* pixels;
  std::int64_t rows;
  std::int64_t channels;
  std::int64_t stride;  // of a row in `laid`
  const float* shift;
  float* laid;   // [rows_at_once, stride] of shifted values, zeros behind the channels
  float* least;  // [stride] each, as the next ones
  float* most;
  float* sums;
  float* products;  // tile by tile
};

// `Vectors` vectors of channels; of the last, where it is `IsCut`, the first `count` channels alone.
template <int Vectors, bool IsCut>
STOKER_INLINE void lay_vectors(const LaidRows& some, std::int64_t vector, std::int64_t count) {
  const std::int64_t channel = vector * lanes;
  const auto load_vector = [count](const float* from, int i) {
    return IsCut && i == Vectors - 1 ? load_first(from + i * lanes, count) : load_anywhere(from + i * lanes);
  };
  V shift[Vectors], least[Vectors], most[Vectors], sums[Vectors];
#pragma GCC unroll 4
  for (int i = 0; i < Vectors; ++i) {
    shift[i] = load_vector(some.shift + channel, i);
    least[i] = load(some.least + channel + i * lanes);
    most[i] = load(some.most + channel + i * lanes);
    sums[i] = V{};
  }
  const float* from = some.pixels + channel;
  float* to = some.laid + channel;
  const std::int64_t step = some.channels, stride = some.stride;
  for (std::int64_t row = some.rows; row > 0; --row, from += step, to += stride) {
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) {
      const V value = load_vector(from, i);
      const V shifted = value - shift[i];
      least[i] = smaller(value, least[i]);
      most[i] = larger(value, most[i]);
      sums[i] += shifted;
      store(to + i * lanes, shifted);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < Vectors; ++i) {
    store(some.least + channel + i * lanes, least[i]);
    store(some.most + channel + i * lanes, most[i]);
    store(some.sums + channel + i * lanes, load(some.sums + channel + i * lanes) + sums[i]);
  }
}

template <int Vectors>
STOKER_INLINE void lay_last(const LaidRows& some, std::int64_t vector, std::int64_t left) {
  if constexpr (Vectors > 0) {
    if (left != Vectors) return lay_last<Vectors - 1>(some, vector, left);
    const std::int64_t count = some.channels % lanes;
    if (count == 0) return lay_vectors<Vectors, false>(some, vector, 0);
    lay_vectors<Vectors, true>(some, vector, count);
  }
}

void lay_rows(const LaidRows& some) {
  constexpr int together = 4;
  const std::int64_t vectors = some.stride / lanes;
  std::int64_t vector = 0;
  for (; vector + together < vectors; vector += together) lay_vectors<together, false>(some, vector, 0);
  lay_last<together>(some, vector, vectors - vector);
}

template <int Singles, int Vectors>
STOKER_INLINE void multiply_rows(const LaidRows& some, std::int64_t channel, std::int64_t vector,
                                 float* products, Fetch fetch) {
  const float* one = some.laid + channel;
  const float* others = some.laid + vector * lanes;
  V sums[Singles][Vectors] = {};
  const std::int64_t stride = some.stride;
  for (std::int64_t row = some.rows; row > 0; --row, one += stride, others += stride) {
    if constexpr (Singles == singles) {
      __builtin_prefetch(fetch.from, 0, 2);
      fetch.from += fetch.step;
    }
    V of_others[Vectors];
    for (int j = 0; j < Vectors; ++j) of_others[j] = load(others + j * lanes);
    for (int i = 0; i < Singles; ++i)
      for (int j = 0; j < Vectors; ++j) sums[i][j] += one[i] * of_others[j];
  }
  for (int i = 0; i < Singles; ++i)
    for (int j = 0; j < Vectors; ++j, products += lanes) store(products, load(products) + sums[i][j]);
}

void multiply_laid(const LaidRows& some, Fetch fetch) {
  float* products = some.products;
  visit_tiles(some.channels, [&]<int Singles, int Vectors>(std::int64_t channel, std::int64_t vector) {
    multiply_rows<Singles, Vectors>(some, channel, vector, products, fetch);
    products += Singles * Vectors * lanes;
    if constexpr (Singles == singles) fetch.from += fetch.step * some.rows;
  });
}

// Adds the tiles to the upper triangle. What stands below the diagonal then is not meant.
void add_products(const CovarianceBlock& block, const float* products) {
  const std::int64_t channels = block.channels;
  const std::int64_t whole = channels - channels % lanes;
  visit_tiles(channels, [&]<int Singles, int Vectors>(std::int64_t channel, std::int64_t vector) {
    const std::int64_t first = vector * lanes;
    const std::int64_t end = first + Vectors * lanes < channels ? first + Vectors * lanes : channels;
    for (int i = 0; i < Singles; ++i, products += Vectors * lanes) {
      const std::int64_t own = channel + i;
      if (own < whole) {
        for (int j = 0; j < Vectors * lanes; ++j)
          block.products[own * channels + first + j] += static_cast<double>(products[j]);
      } else {
        for (std::int64_t other = first; other < end; ++other)
          block.products[other * channels + own] += static_cast<double>(products[other - first]);
      }
    }
  });
}

struct Tiles {
  std::int64_t fetching = 0;
  std::int64_t products = 0;
};
Tiles count_tiles(std::int64_t channels) {
  Tiles all;
  visit_tiles(channels, [&]<int Singles, int Vectors>(std::int64_t, std::int64_t) {
    all.fetching += Singles == singles ? 1 : 0;
    all.products += Singles * Vectors * lanes;
  });
  return all;
}

void sum_up_by_rows(const CovarianceBlock& block) {
  const std::int64_t channels = block.channels, stride = vectors_for(channels) * lanes;
  LaidRows some{.pixels = block.pixels,
                .rows = 0,
                .channels = channels,
                .stride = stride,
                .shift = block.shift,
                .laid = block.packed,
                .least = block.seen,
                .most = block.seen + stride,
                .sums = block.seen + 2 * stride,
                .products = block.packed + rows_at_once * stride};
  for (std::int64_t i = 0; i < stride; ++i) {
    some.least[i] = some.most[i] = i < channels ? block.pixels[i] : 0.0F;
    some.sums[i] = 0;
  }
  for (std::int64_t i = 0; i < channels * channels; ++i) block.products[i] = 0;
  const Tiles tiles = count_tiles(channels);
  for (std::int64_t row = 0; row < block.rows; row += rows_at_once) {
    if (row % rows_added_up == 0)
      for (std::int64_t i = 0; i < tiles.products; ++i) some.products[i] = 0;
    some.rows = row + rows_at_once < block.rows ? rows_at_once : block.rows - row;
    some.pixels = block.pixels + row * channels;
    lay_rows(some);
    Fetch fetch{some.pixels, 0};
    if (block.ahead_count > 0)
      fetch = {some.pixels + rows_ahead * channels, (channels + tiles.fetching - 1) / tiles.fetching};
    multiply_laid(some, fetch);
    if (row + some.rows == block.rows || (row + some.rows) % rows_added_up == 0)
      add_products(block, some.products);
  }
  for (std::int64_t i = 0; i < channels; ++i) {
    block.least[i] = some.least[i];
    block.most[i] = some.most[i];
    block.sums[i] = some.sums[i];
  }
}

}  // namespace
}  // namespace stoker::kernels
