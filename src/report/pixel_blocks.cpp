#include "report/pixel_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stoker {
namespace {

// Calls use(pixel, block) for every pixel.
template <class Use>
void each_pixel(const SpectralPixels& cube, const PixelBlocks& blocks, const Use& use) {
  for (std::int64_t y = 0; y < cube.height; ++y)
    for (std::int64_t x = 0; x < cube.width; ++x)
      use(static_cast<std::size_t>(y * cube.width + x),
          static_cast<std::size_t>(y / blocks.side * blocks.width + x / blocks.side));
}

}  // namespace

PixelBlocks blocks_for(std::int64_t height, std::int64_t width, std::int64_t most_pixels) {
  PixelBlocks blocks{1, height, width};
  while (blocks.height * blocks.width > std::max<std::int64_t>(most_pixels, 1)) {
    ++blocks.side;
    blocks.height = (height + blocks.side - 1) / blocks.side;
    blocks.width = (width + blocks.side - 1) / blocks.side;
  }
  return blocks;
}

std::vector<float> means_of_blocks(const SpectralPixels& cube, std::int64_t channel,
                                   const PixelBlocks& blocks) {
  const auto size = static_cast<std::size_t>(blocks.height * blocks.width);
  std::vector<double> sums(size), counts(size);
  each_pixel(cube, blocks, [&](std::size_t pixel, std::size_t block) {
    const float value =
        cube.values[pixel * static_cast<std::size_t>(cube.channels) + static_cast<std::size_t>(channel)];
    if (!std::isfinite(value)) return;
    sums[block] += static_cast<double>(value);
    counts[block] += 1;
  });
  std::vector<float> means(size, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < size; ++i)
    if (counts[i] > 0) means[i] = static_cast<float>(sums[i] / counts[i]);
  return means;
}

std::vector<std::uint8_t> marks_of_blocks(const SpectralPixels& cube, const PixelBlocks& blocks) {
  if (cube.mask.empty()) return {};
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(blocks.height * blocks.width));
  each_pixel(cube, blocks, [&](std::size_t pixel, std::size_t block) {
    if (cube.mask[pixel] != 0) marks[block] = 1;
  });
  return marks;
}

}  // namespace stoker
