#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/gnuplot.h"

// Pictures of spectral cubes and of what was found in them, from plain arrays.
namespace stoker {

struct SpectralPixels {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::span<const float> values;             // [height, width, channels]
  std::span<const std::uint8_t> mask = {};   // [height, width], 0: not marked; may be empty
  std::span<const double> wavelengths = {};  // in nm, one for each channel; may be empty

  std::int64_t pixels() const { return height * width; }
};

// Red, green and blue: the channels nearest to 650, 550 and 450 nm where the wavelengths reach so far, else
// the last, the middle and the first.
std::array<std::int64_t, 3> false_colour_channels(const SpectralPixels& cube);

// What the three channels show, with an outline around what is marked.
GnuplotPicture false_colour_picture(const SpectralPixels& cube, const std::string& title);
// Scores [height, width], with the same outline. Colours end where 0.5 % of the scores are higher.
GnuplotPicture heat_picture(const SpectralPixels& cube, std::span<const float> scores,
                            const std::string& title);
// The mean spectrum of marked and of all other pixels, a deviation around each, and the channels that were
// chosen.
GnuplotPicture spectra_picture(const SpectralPixels& cube, std::span<const std::int64_t> chosen,
                               const std::string& title);
// Components [count, channels] over the wavelengths; `shares` of the variance may be empty.
GnuplotPicture components_picture(std::span<const float> components, std::int64_t channels,
                                  std::span<const double> wavelengths, std::span<const float> shares,
                                  const std::string& title);
// Precision over recall as the threshold falls. Nothing where no pixel is marked; pixels whose score is NaN
// do not count.
std::optional<GnuplotPicture> precision_recall_picture(std::span<const float> scores,
                                                       std::span<const std::uint8_t> marks,
                                                       const std::string& title);

struct PrecisionRecall {
  std::vector<double> recall;
  std::vector<double> precision;
  double average_precision = 0;  // the sum of precisions, each times the recall that it adds
};
PrecisionRecall precision_recall(std::span<const float> scores, std::span<const std::uint8_t> marks);

}  // namespace stoker
