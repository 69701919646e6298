#pragma once

#include <cstdint>

#include "data/table/table.h"

namespace stoker {

// Cubes of 128 x 128 pixels with 50 channels from 430 to 920 nm, and masks. A pixel is a mixture of four
// materials, whose shares change smoothly over the image, under a brightness of its own, with noise. A
// material is a sum of three Gaussian curves over the wavelengths. In most cubes a few round spots have a
// part of a fifth material mixed in: these are class 1 of the masks.
Table make_spectral_stress(std::int64_t cubes, std::uint64_t seed);

}  // namespace stoker
