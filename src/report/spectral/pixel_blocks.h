#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/spectral/spectral_pixels.h"

// Images made smaller, so that what is drawn or written stays bounded.
namespace stoker {

struct PixelBlocks {
  std::int64_t side = 1;  // a pixel of the small image stands for so many squared
  std::int64_t height = 0;
  std::int64_t width = 0;
};
// As large as may be, with at most so many pixels.
PixelBlocks blocks_for(std::int64_t height, std::int64_t width, std::int64_t most_pixels);

// The mean of the finite values of some channels in each block, [blocks, those channels]; NaN where there is
// none.
std::vector<float> means_of_blocks(const SpectralPixels& cube, std::span<const std::int64_t> channels,
                                   const PixelBlocks& blocks);
// 1 where a pixel of the block is marked; empty without marks.
std::vector<std::uint8_t> marks_of_blocks(std::span<const std::uint8_t> marks, std::int64_t height,
                                          std::int64_t width, const PixelBlocks& blocks);

}  // namespace stoker
