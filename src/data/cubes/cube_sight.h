#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace stoker {

// The numbers of a cube, which lie elsewhere.
struct SeenCube {
  std::string name;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::span<const float> values;             // [height, width, channels]
  std::span<const std::uint8_t> mask = {};   // [height, width]; may be empty
  std::span<const double> wavelengths = {};  // in nm, of the channels; may be empty
};

// Red, green and blue near 650, 550 and 450 nm; where the channels do not reach that far, the last, the
// middle and the first.
std::array<std::int64_t, 3> false_colour_channels(std::span<const double> wavelengths, std::int64_t channels);

// One cube as a person wants to see it first: three of its channels as a small picture, and spectra.
struct CubeSight {
  struct Spectrum {
    int pixel_class = 0;  // of the mask; 0: nothing is marked
    std::int64_t pixels = 0;
    std::vector<float> mean;  // of the finite values of each channel; NaN where there are none
  };
  std::string name;
  std::int64_t side = 1;  // a pixel of the picture stands for so many squared of the cube
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::array<std::int64_t, 3> channels{};            // red, green and blue
  std::array<std::vector<std::uint8_t>, 3> colours;  // of the pixels, 0 to 255
  std::vector<std::uint8_t> mask;                    // the highest class in each pixel; empty without masks
  std::vector<Spectrum> spectra;                     // of the classes, most pixels first, at most six
};
CubeSight sight_of(const SeenCube& cube);
nlohmann::json to_json(const CubeSight& sight);

}  // namespace stoker
