#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/spectral/spectral_pixels.h"
#include "store/record/record_part.h"

// A cube as report.html and pictures show it: made small enough to travel in the page.
namespace stoker {

// In false colours and by its scores, as large as pictures show it. A byte each, in base64.
struct CubeImage {
  std::int64_t side = 1;  // a pixel here stands for so many squared of the cube
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::array<std::int64_t, 3> channels{};  // that are red, green and blue
  std::vector<double> wavelengths;         // of those; none where nobody knows
  std::string colours;                     // [height, width, 3]
  std::string scores;                      // 0 is none, 1 to 255 lead from the lowest to the highest
  double lowest = 0;
  double highest = 0;  // 0.5 % of the scores are higher
  std::string actual;  // 1: marked
  std::string found;   // 1: marked by the model; empty where nothing decides
};

// Band by band, with the spectrum under the pointer.
struct CubeView {
  std::string name;
  std::string reason;     // why this cube is shown; may be empty
  std::int64_t side = 1;  // a pixel here stands for so many squared of the cube
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::int64_t> channels;  // of the cube, which are shown
  std::vector<double> wavelengths;     // of those; none where nobody knows
  std::vector<double> least;           // of each
  std::vector<double> most;
  // A byte for each number of [height, width, channels], in base64: 0 is none, 1 to 255 lead from the least
  // to the most of its channel.
  std::string values;
  std::string mask;  // a byte for each pixel, in base64; empty without
  CubeImage image;
};

// At most about a million numbers: fewer pixels first, then fewer channels. `scores` and `found` are
// [height, width]; `found` may be empty.
CubeView view_of(const SpectralPixels& cube, std::span<const float> scores,
                 std::span<const std::uint8_t> found, std::string name);

// How much higher than wide pixels are to be drawn, so that an image of few lines or columns is no sliver.
double stretch_of_pixels(std::int64_t height, std::int64_t width);

nlohmann::json to_json(const CubeView& view);
CubeView cube_view_from(const RecordPart& part);  // refuses what is none

}  // namespace stoker
