#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "report/spectral_pictures.h"

// A cube as report.html shows it, band by band and with the spectrum under the pointer: made small enough to
// travel in the page.
namespace stoker {

struct CubeView {
  std::string name;
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
};

// At most about a million numbers: fewer pixels first, then fewer channels.
CubeView view_of(const SpectralPixels& cube, std::string name);

// cubes/NAME.json of a run folder, from where the report takes it.
void write_cube_view(const CubeView& view, const std::filesystem::path& file);
CubeView read_cube_view(const std::filesystem::path& file);  // refuses what is none
std::vector<CubeView> read_cube_views(const std::filesystem::path& folder);

}  // namespace stoker
