#include "model/linear/gram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>

#include "device/workers.h"
#include "model/linear/gram_tile.h"

namespace stoker {
namespace {

constexpr std::int64_t panel_tiles =
    32;  // 32 tiles x 256 rows of 8 doubles: 512 KiB, a share of the L2 cache

// Columns x, y and a column of ones, whose products are the sums; padded to whole tiles.
std::int64_t padded_width(std::int64_t columns) {
  return (columns + 2 + tile_columns - 1) / tile_columns * tile_columns;
}

// Narrow blocks stay in the L1 cache; wide ones are read from L2 panel by panel.
std::int64_t block_rows(std::int64_t width) {
  return width <= 32 ? 128 : 256;
}

struct AlignedDeleter {
  void operator()(double* pointer) const { ::operator delete[](pointer, std::align_val_t{64}); }
};
using AlignedDoubles = std::unique_ptr<double[], AlignedDeleter>;

AlignedDoubles aligned_zeros(std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  AlignedDoubles memory(static_cast<double*>(::operator new[](size * sizeof(double), std::align_val_t{64})));
  std::fill_n(memory.get(), size, 0.0);
  return memory;
}

// Shifted rows as tiles: [tile][row][tile_columns], so that the products read memory in order.
struct PackedBlock {
  explicit PackedBlock(std::int64_t columns)
      : width(padded_width(columns)), capacity(block_rows(width)), values(aligned_zeros(width * capacity)) {}

  double* tile(std::int64_t index) const { return values.get() + index * capacity * tile_columns; }

  void fill(const MatrixView& x, std::span<const double> y, const std::vector<double>& shift,
            std::int64_t first, std::int64_t count) {
    const std::int64_t columns = x.columns;
    for (std::int64_t start = 0; start < columns; start += tile_columns) {
      const std::int64_t here = std::min(tile_columns, columns - start);
      const double* source = x.values.data() + first * columns + start;
      const double* offset = shift.data() + start;
      double* target = tile(start / tile_columns);
      for (std::int64_t row = 0; row < count; ++row, source += columns, target += tile_columns) {
        for (std::int64_t j = 0; j < here; ++j) target[j] = source[j] - offset[j];
      }
    }
    double* targets = tile(columns / tile_columns) + columns % tile_columns;
    double* ones = tile((columns + 1) / tile_columns) + (columns + 1) % tile_columns;
    for (std::int64_t row = 0; row < count; ++row) {
      targets[row * tile_columns] = y[static_cast<std::size_t>(first + row)] - shift.back();
      ones[row * tile_columns] = 1.0;
    }
  }

  std::int64_t width;
  std::int64_t capacity;
  AlignedDoubles values;
};

// Upper triangle of blockᵀ · block, added to `products` [width, width].
void add_block(const PackedBlock& block, std::int64_t rows, AddTile add_tile, double* products) {
  const std::int64_t tiles = block.width / tile_columns;
  for (std::int64_t panel = 0; panel < tiles; panel += panel_tiles) {
    const std::int64_t panel_end = std::min(tiles, panel + panel_tiles);
    for (std::int64_t left = 0; left < panel_end; ++left) {
      for (std::int64_t right = std::max(left, panel); right < panel_end; ++right) {
        for (std::int64_t half = 0; half < tile_columns; half += tile_rows) {
          double* target = products + (left * tile_columns + half) * block.width + right * tile_columns;
          add_tile(block.tile(left) + half, block.tile(right), rows, target, block.width);
        }
      }
    }
  }
}

Moments unpacked(const double* products, std::int64_t width, const std::vector<double>& shift,
                 std::int64_t rows) {
  const auto joined = static_cast<std::int64_t>(shift.size());  // columns + 1
  Moments moments{rows, joined - 1, shift, std::vector<double>(shift.size()),
                  std::vector<double>(shift.size() * shift.size())};
  for (std::int64_t i = 0; i < joined; ++i) {
    moments.sums[static_cast<std::size_t>(i)] = products[i * width + joined];
    for (std::int64_t j = i; j < joined; ++j) {
      moments.products[static_cast<std::size_t>(i * joined + j)] = products[i * width + j];
      moments.products[static_cast<std::size_t>(j * joined + i)] = products[i * width + j];
    }
  }
  return moments;
}

Moments accumulate_range(const MatrixView& x, std::span<const double> y, const std::vector<double>& shift,
                         RowRange range) {
  PackedBlock block(x.columns);
  const AddTile add_tile = best_add_tile();
  const AlignedDoubles products = aligned_zeros(block.width * block.width);
  for (std::int64_t row = range.first; row < range.last; row += block.capacity) {
    const std::int64_t count = std::min(block.capacity, range.last - row);
    block.fill(x, y, shift, row, count);
    add_block(block, count, add_tile, products.get());
  }
  return unpacked(products.get(), block.width, shift, range.last - range.first);
}

// Ranges cut into pieces that are worth a thread each; how they are cut depends on the sizes alone.
std::vector<RowRange> pieces_of(RowRange range, std::int64_t columns) {
  constexpr double worth_a_thread = 2e6;          // multiply-adds: about 0.2 ms
  constexpr double most_bytes = 256.0 * 1048576;  // of partial products
  const double width = static_cast<double>(padded_width(columns));
  const auto rows = static_cast<double>(range.last - range.first);
  const double pieces =
      std::min({rows * width * width / 2 / worth_a_thread, most_bytes / (width * width * 8), 8.0});
  const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(pieces));
  std::vector<RowRange> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t total = range.last - range.first;
    result.push_back({range.first + total * i / count, range.first + total * (i + 1) / count});
  }
  return result;
}

}  // namespace

std::vector<double> provisional_means(const MatrixView& x, std::span<const double> y, bool centre) {
  std::vector<double> means(static_cast<std::size_t>(x.columns) + 1, 0.0);
  if (!centre) return means;
  const std::int64_t samples = std::min<std::int64_t>(x.rows, 64);
  // About the first row, so that the mean of a constant column is exactly its value.
  for (std::int64_t sample = 1; sample < samples; ++sample) {
    const std::int64_t row = sample * x.rows / samples;
    for (std::int64_t j = 0; j < x.columns; ++j) {
      means[static_cast<std::size_t>(j)] +=
          x.values[static_cast<std::size_t>(row * x.columns + j)] - x.values[static_cast<std::size_t>(j)];
    }
    means.back() += y[static_cast<std::size_t>(row)] - y[0];
  }
  for (std::size_t j = 0; j < means.size(); ++j) {
    means[j] = (j + 1 < means.size() ? x.values[j] : y[0]) + means[j] / static_cast<double>(samples);
  }
  return means;
}

std::vector<Moments> accumulate_moments(const MatrixView& x, std::span<const double> y,
                                        const std::vector<double>& shift, std::span<const RowRange> ranges) {
  std::vector<RowRange> pieces;
  std::vector<std::size_t> range_of_piece;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (const RowRange& piece : pieces_of(ranges[i], x.columns)) {
      pieces.push_back(piece);
      range_of_piece.push_back(i);
    }
  }
  std::vector<Moments> parts(pieces.size());
  const auto accumulate = [&](std::int64_t i) {
    const auto piece = static_cast<std::size_t>(i);
    parts[piece] = accumulate_range(x, y, shift, pieces[piece]);
  };
  share_among_cores(static_cast<std::int64_t>(pieces.size()), accumulate);

  std::vector<Moments> result(ranges.size());
  for (std::size_t i = 0; i < parts.size(); ++i) add(result[range_of_piece[i]], parts[i]);
  return result;
}

void add(Moments& sum, const Moments& part) {
  if (sum.products.empty()) {
    sum = part;
    return;
  }
  sum.rows += part.rows;
  for (std::size_t i = 0; i < sum.sums.size(); ++i) sum.sums[i] += part.sums[i];
  for (std::size_t i = 0; i < sum.products.size(); ++i) sum.products[i] += part.products[i];
}

bool varies_by_rounding_alone(double sum_of_squares, double mean, std::int64_t rows) {
  const double rounding = 2 * std::numeric_limits<double>::epsilon() * std::abs(mean);
  return sum_of_squares <= static_cast<double>(rows) * rounding * rounding;
}

bool GramSystem::is_constant(std::int64_t j) const {
  return varies_by_rounding_alone(diagonal(j), means[static_cast<std::size_t>(j)], rows);
}

GramSystem gram_system(const Moments& moments, bool centre) {
  const auto joined = static_cast<std::size_t>(moments.columns) + 1;
  const auto rows = static_cast<double>(moments.rows);
  const auto centred = [&](std::size_t i, std::size_t j) {
    const double product = moments.products[i * joined + j];
    if (!centre) return product;
    const double rest = product - moments.sums[i] * moments.sums[j] / rows;
    return i == j ? std::max(rest, 0.0) : rest;
  };
  GramSystem system;
  system.rows = moments.rows;
  system.columns = moments.columns;
  system.means.resize(joined - 1);
  system.moments_with_target.resize(joined - 1);
  system.gram.resize((joined - 1) * (joined - 1));
  for (std::size_t i = 0; i + 1 < joined; ++i) {
    if (centre) system.means[i] = moments.shift[i] + moments.sums[i] / rows;
    system.moments_with_target[i] = centred(i, joined - 1);
    for (std::size_t j = 0; j + 1 < joined; ++j) system.gram[i * (joined - 1) + j] = centred(i, j);
  }
  if (centre) system.target_mean = moments.shift.back() + moments.sums.back() / rows;
  system.target_square = centred(joined - 1, joined - 1);
  return system;
}

GramSystem gram_system(const MatrixView& x, std::span<const double> y, bool centre) {
  const RowRange all{0, x.rows};
  const std::vector<double> shift = provisional_means(x, y, centre);
  const Moments moments = accumulate_moments(x, y, shift, {&all, 1}).front();
  GramSystem system = gram_system(moments, centre);
  if (!centre) return system;
  const auto joined = static_cast<std::size_t>(x.columns) + 1;
  std::vector<double> means = system.means;
  means.push_back(system.target_mean);
  bool far_off = false;
  for (std::size_t j = 0; j < joined; ++j) {
    const double square = moments.products[j * joined + j];
    const double removed = moments.sums[j] * moments.sums[j] / static_cast<double>(x.rows);
    far_off = far_off || removed > 0.9 * square;
  }
  if (!far_off) return system;
  return gram_system(accumulate_moments(x, y, means, {&all, 1}).front(), centre);
}

}  // namespace stoker
