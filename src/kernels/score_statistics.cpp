#include "kernels/score_statistics.h"

#include <algorithm>
#include <vector>

#include "kernels/passing_room.h"

namespace stoker::kernels {
namespace {

QuadraticScores plain_scores(QuadraticScores work, float* to) {
  work.marks = nullptr;
  work.scale = 1;
  work.bias = 0;
  work.logits = to;
  work.with_gradients = false;
  return work;
}

StatisticsWork one_channel(const float* scores, std::int64_t rows) {
  return {scores, nullptr, rows, 1, true};
}

// What lies behind one another in a piece of a GPU's memory.
class Pieces {
 public:
  std::size_t add(std::size_t bytes) {
    constexpr std::size_t aligned = 256;
    const std::size_t at = bytes_;
    bytes_ += (bytes + aligned - 1) / aligned * aligned;
    return at;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace

Statistics score_statistics(const QuadraticScores& work, BadPixels bad) {
  std::vector<float> scores(static_cast<std::size_t>(work.rows));
  quadratic_loss(plain_scores(work, scores.data()));
  return covariance(one_channel(scores.data(), work.rows), bad, {Device::cpu(), nullptr});
}

std::optional<Statistics> score_statistics(const QuadraticScores& work, const CubesToScore& cubes,
                                           BadPixels bad, const Place& place) {
  if (!fits_quadratic_cuda(work.columns, work.outputs)) return std::nullopt;
  constexpr std::int64_t most_pixels = 1 << 21;
  const std::int64_t most_cubes =
      std::clamp<std::int64_t>(most_pixels / std::max<std::int64_t>(cubes.pixels_of_cube, 1), 1, 64);
  QuadraticCubes some;
  some.pixels = cubes.pixels;
  some.pixels_of_cube = cubes.pixels_of_cube;
  some.count = std::min(most_cubes, std::ssize(cubes.first_pixels));
  const std::vector<float> matrix = filled_up(work);
  const auto columns = static_cast<std::size_t>(work.columns);
  Pieces pieces;
  const std::size_t of_matrix = pieces.add(matrix.size() * sizeof(float));
  const std::size_t of_shift = pieces.add(columns * sizeof(float));
  const std::size_t of_starts = pieces.add(cubes.first_pixels.size_bytes());
  const std::size_t of_scores =
      pieces.add(static_cast<std::size_t>(some.count * some.pixels_of_cube) * sizeof(float));
  const std::size_t of_parts =
      pieces.add(static_cast<std::size_t>(quadratic_parts_cuda(work, some)) * sizeof(double));
  const auto numbers = (columns + 1) * static_cast<std::size_t>(work.outputs) + 3;
  const std::size_t of_numbers = pieces.add(numbers * sizeof(double));
  const PassingRoom room(pieces.bytes(), place);
  std::byte* const at = room.as<std::byte>();
  const auto send = [&](std::size_t to, const void* from, std::size_t bytes) {
    cuda::copy(at + to, from, bytes, place.device.index);
  };
  send(of_matrix, matrix.data(), matrix.size() * sizeof(float));
  send(of_shift, work.shift, columns * sizeof(float));
  send(of_starts, cubes.first_pixels.data(), cubes.first_pixels.size_bytes());
  auto* const scores = reinterpret_cast<float*>(at + of_scores);
  QuadraticScores own = plain_scores(work, scores);
  own.matrix = reinterpret_cast<const float*>(at + of_matrix);
  own.shift = reinterpret_cast<const float*>(at + of_shift);
  Statistics all;
  for (std::int64_t first = 0; first < std::ssize(cubes.first_pixels); first += most_cubes) {
    some.first_pixels = reinterpret_cast<const std::int64_t*>(at + of_starts) + first;
    some.count = std::min(most_cubes, std::ssize(cubes.first_pixels) - first);
    check_launch(quadratic_loss_cuda(own, some, reinterpret_cast<double*>(at + of_parts),
                                     reinterpret_cast<double*>(at + of_numbers), place.stream),
                 "scores of pixels");
    all.merge(covariance(one_channel(scores, some.count * some.pixels_of_cube), bad, place));
  }
  return all;
}

}  // namespace stoker::kernels
