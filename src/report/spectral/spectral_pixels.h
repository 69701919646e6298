#pragma once

#include <cstdint>
#include <span>

namespace stoker {

// A cube where it lies.
struct SpectralPixels {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::span<const float> values;             // [height, width, channels]
  std::span<const std::uint8_t> mask = {};   // [height, width], 0: not marked; may be empty
  std::span<const double> wavelengths = {};  // in nm, one for each channel; may be empty
};

}  // namespace stoker
