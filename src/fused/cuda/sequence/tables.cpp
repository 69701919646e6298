#include "fused/cuda/sequence/tables.h"

#include <algorithm>

namespace stoker::fused::sequence {
namespace {

constexpr unsigned blocks_of_matrix = 32;
constexpr std::int64_t fragment_bytes = 16;

unsigned blocks_of(const PartialSums& sums) {
  return static_cast<unsigned>((sums.entries + gradient_threads - 1) / gradient_threads);
}

}  // namespace

std::int64_t Packing::add(const Matrix& matrix, bool transposed, PackOrder order, int k_tiles) {
  PackedMatrix packed{};
  packed.offset = static_cast<int>(matrix.offset);
  packed.pitch = matrix.k;
  packed.m = transposed ? matrix.k : matrix.m;
  packed.k = transposed ? matrix.m : matrix.k;
  packed.m_tiles = (packed.m + 15) / 16;
  packed.k_tiles = k_tiles > 0 ? k_tiles : (packed.k + 15) / 16;
  packed.transposed = transposed;
  packed.order = order;
  packed.first = fragments_;
  fragments_ += std::int64_t{packed.m_tiles} * packed.k_tiles * 32;
  matrices_.push_back(packed);
  return packed.first;
}

void Packing::finish(const float* parameters, Room& room) {
  work_.parameters = parameters;
  work_.stream = room.take<char>(fragments_ * fragment_bytes);
  work_.matrices = room.take_copy(matrices_);
  work_.count = static_cast<int>(matrices_.size());
}

const char* Packing::at(std::int64_t fragment) const {
  return static_cast<const char*>(work_.stream) + fragment * fragment_bytes;
}

void Packing::run(const Launch& launch, Stream stream) const {
  launch.run(dim3(blocks_of_matrix, static_cast<unsigned>(work_.count)), stream, work_);
}

void GradientTables::add_product(const RowsOf& d, const RowsOf& x, std::int64_t rows, float* to, int m,
                                 int k) {
  // The wider of the two takes the wide side of a tile.
  const bool d_is_wide = m >= k;
  const RowsOf& a = d_is_wide ? d : x;
  const RowsOf& b = d_is_wide ? x : d;
  const int a_columns = d_is_wide ? m : k;
  const int b_columns = d_is_wide ? k : m;
  for (int i = 0; i < a_columns; i += gradient_wide)
    for (int j = 0; j < b_columns; j += gradient_narrow) {
      GradientTile tile{};
      tile.a = a.rows + i;
      tile.b = b.rows + j;
      tile.to = to + (d_is_wide ? std::int64_t{i} * k + j : std::int64_t{j} * k + i);
      tile.rows = static_cast<int>(rows);
      tile.a_pitch = a.pitch;
      tile.b_pitch = b.pitch;
      tile.a_columns = std::min(gradient_wide, a_columns - i);
      tile.b_columns = std::min(gradient_narrow, b_columns - j);
      tile.to_pitch = k;
      tile.a_is_contiguous = !d_is_wide;
      tiles_.push_back(tile);
    }
}

void GradientTables::begin_sums(const float* parts, int blocks, int pitch) {
  Sums sums{};
  sums.work.parts = parts;
  sums.work.blocks = blocks;
  sums.work.pitch = pitch;
  sums_.push_back(std::move(sums));
}

void GradientTables::add_sum(int from, std::int64_t to, int count) {
  for (int i = 0; i < count; ++i) {
    sums_.back().from.push_back(from + i);
    sums_.back().to.push_back(static_cast<int>(to) + i);
  }
}

void GradientTables::finish(float* flat, Room& room) {
  if (sums_.size() > most_partial_sums) fail("a network has {} sets of sums", sums_.size());
  // The longest first, so that none begins when the others end.
  std::stable_sort(tiles_.begin(), tiles_.end(),
                   [](const GradientTile& a, const GradientTile& b) { return a.rows > b.rows; });
  work_.tiles = room.take_copy(tiles_);
  work_.tile_count = static_cast<int>(tiles_.size());
  work_.flat = flat;
  blocks_ = static_cast<unsigned>(tiles_.size()) * gradient_cluster;
  for (Sums& each : sums_) {
    each.work.from = room.take_copy(each.from);
    each.work.to = room.take_copy(each.to);
    each.work.entries = static_cast<int>(each.to.size());
    work_.sums[work_.sums_count++] = each.work;
    blocks_ += blocks_of(each.work);
  }
  // Whole clusters.
  blocks_ = (blocks_ + gradient_cluster - 1) / gradient_cluster * gradient_cluster;
}

void GradientTables::run(const Launch& launch, Stream stream) const {
  launch.run(dim3(blocks_), stream, work_);
}

}  // namespace stoker::fused::sequence
