#include "model/nodes/cube_statistics.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/error.h"
#include "data/cubes/cube_rows.h"
#include "device/workers.h"
#include "kernels/place.h"
#include "kernels/score_statistics.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

using Found = std::optional<kernels::Statistics>;

Found unless_refused(const std::function<Found()>& find) {
  try {
    return find();
  } catch (const OutOfMemory&) {
    return std::nullopt;
  } catch (const Error& error) {
    if (error.code() != ExitCode::wrong_request) throw;
    return std::nullopt;
  }
}

// Each cube is one core's, and what they give is put together in their order, some at a time: of many
// channels it takes more room than a small cube.
kernels::Statistics of_each_cube(const DatasetArray& cubes, std::int64_t rows,
                                 const std::function<kernels::Statistics(const Array& cube)>& find) {
  constexpr std::int64_t together = 64;
  kernels::Statistics all;
  for (std::int64_t first = 0; first < rows; first += together) {
    std::vector<kernels::Statistics> found(static_cast<std::size_t>(std::min(together, rows - first)));
    share_among_cores(std::ssize(found), [&](std::int64_t i) {
      found[static_cast<std::size_t>(i)] = find(cube_at(cubes, first + i));
    });
    for (const kernels::Statistics& each : found) all.merge(each);
  }
  return all;
}

std::int64_t pixels_of_row(const DatasetArray& cubes) {
  const Shape shape = cubes.row_shape();
  return shape[0] * shape[1];
}

// Neighbours in memory are gone through together.
kernels::Statistics on_gpu(const DatasetArray& cubes, kernels::BadPixels bad) {
  const std::vector<std::int64_t> first = first_pixels(cubes);
  const std::int64_t pixels = pixels_of_row(cubes);
  const std::int64_t channels = cubes.row_shape()[2];
  kernels::Statistics all;
  for (std::size_t row = 0; row < first.size();) {
    std::size_t end = row + 1;
    while (end < first.size() && first[end] == first[end - 1] + pixels) ++end;
    const kernels::StatisticsWork work{static_cast<const float*>(cubes.array.data()) + first[row] * channels,
                                       nullptr, static_cast<std::int64_t>(end - row) * pixels, channels,
                                       true};
    all.merge(kernels::covariance(work, bad, {cubes.array.device(), nullptr}));
    row = end;
  }
  return all;
}

}  // namespace

Found statistics_of_cubes(const Dataset& data, kernels::BadPixels bad) {
  const DatasetArray& cubes = *data.find(cubes_in_dataset);
  return unless_refused([&]() -> Found {
    if (cubes.array.memory() == Memory::device) return on_gpu(cubes, bad);
    return of_each_cube(cubes, data.rows(), [&](const Array& cube) {
      return kernels::covariance({cube.as<float>().data(), nullptr, pixels_in(cube), channels_in(cube), true},
                                 bad, {Device::cpu(), nullptr});
    });
  });
}

Found statistics_of_scores(const kernels::QuadraticScores& work, const Dataset& data,
                           kernels::BadPixels bad) {
  const DatasetArray& cubes = *data.find(cubes_in_dataset);
  return unless_refused([&]() -> Found {
    if (cubes.array.memory() == Memory::device) {
      const std::vector<std::int64_t> first = first_pixels(cubes);
      return kernels::score_statistics(
          work, {static_cast<const float*>(cubes.array.data()), first, pixels_of_row(cubes)}, bad,
          {cubes.array.device(), nullptr});
    }
    return of_each_cube(cubes, data.rows(), [&](const Array& cube) {
      kernels::QuadraticScores own = work;
      own.pixels = cube.as<float>().data();
      own.rows = pixels_in(cube);
      return kernels::score_statistics(own, bad);
    });
  });
}

}  // namespace stoker::nodes
