#include "report/spectral/pixel_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/workers.h"

namespace stoker {

PixelBlocks blocks_for(std::int64_t height, std::int64_t width, std::int64_t most_pixels) {
  PixelBlocks blocks{1, height, width};
  while (blocks.height * blocks.width > std::max<std::int64_t>(most_pixels, 1)) {
    ++blocks.side;
    blocks.height = (height + blocks.side - 1) / blocks.side;
    blocks.width = (width + blocks.side - 1) / blocks.side;
  }
  return blocks;
}

// One pass over the pixels, a line of blocks to a core at a time.
std::vector<float> means_of_blocks(const SpectralPixels& cube, std::span<const std::int64_t> channels,
                                   const PixelBlocks& blocks) {
  const std::size_t count = channels.size();
  const std::size_t of_line = static_cast<std::size_t>(blocks.width) * count;
  std::vector<float> means(static_cast<std::size_t>(blocks.height) * of_line);
  share_among_cores(blocks.height, [&](std::int64_t line) {
    std::vector<double> sums(of_line), finite(of_line);
    const std::int64_t end = std::min(cube.height, (line + 1) * blocks.side);
    for (std::int64_t y = line * blocks.side; y < end; ++y)
      for (std::int64_t x = 0; x < cube.width; ++x) {
        const float* pixel = cube.values.data() + (y * cube.width + x) * cube.channels;
        const std::size_t block = static_cast<std::size_t>(x / blocks.side) * count;
        for (std::size_t i = 0; i < count; ++i) {
          const float value = pixel[channels[i]];
          if (!std::isfinite(value)) continue;
          sums[block + i] += static_cast<double>(value);
          finite[block + i] += 1;
        }
      }
    float* to = means.data() + static_cast<std::size_t>(line) * of_line;
    for (std::size_t i = 0; i < of_line; ++i)
      to[i] =
          finite[i] > 0 ? static_cast<float>(sums[i] / finite[i]) : std::numeric_limits<float>::quiet_NaN();
  });
  return means;
}

std::vector<std::uint8_t> marks_of_blocks(std::span<const std::uint8_t> marks, std::int64_t height,
                                          std::int64_t width, const PixelBlocks& blocks) {
  if (marks.empty()) return {};
  std::vector<std::uint8_t> of_blocks(static_cast<std::size_t>(blocks.height * blocks.width));
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      if (marks[static_cast<std::size_t>(y * width + x)] != 0)
        of_blocks[static_cast<std::size_t>(y / blocks.side * blocks.width + x / blocks.side)] = 1;
  return of_blocks;
}

}  // namespace stoker
