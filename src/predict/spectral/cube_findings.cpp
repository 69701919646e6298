#include "predict/spectral/cube_findings.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/text.h"
#include "data/cubes/cubes.h"

namespace stoker {
namespace {

constexpr std::int64_t most_numbers_of_spectra = 20'000'000;

std::int64_t count_of_marked(const Array& marks) {
  return marks.size() - std::ranges::count(marks.as<std::uint8_t>(), 0);
}

struct Mistakes {
  std::int64_t missed = 0;
  std::int64_t in_error = 0;
  std::int64_t all() const { return missed + in_error; }
};

Mistakes mistakes_in(const MeasuredCube& cube) {
  Mistakes found;
  const auto actual = cube.actual.as<std::uint8_t>();
  const auto marks = cube.marks.as<std::uint8_t>();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    found.missed += actual[i] != 0 && marks[i] == 0 ? 1 : 0;
    found.in_error += actual[i] == 0 && marks[i] != 0 ? 1 : 0;
  }
  return found;
}

// The highest score outside of what is marked, if anything is; that of nothing is the lowest there is.
float highest_elsewhere(const MeasuredCube& cube) {
  float highest = -INFINITY;
  const auto actual = cube.actual.as<std::uint8_t>();
  const auto scores = cube.scores.as<float>();
  for (std::size_t i = 0; i < scores.size(); ++i)
    if ((actual.empty() || actual[i] == 0) && scores[i] > highest) highest = scores[i];
  return highest;
}

template <class Measure>
std::size_t place_of_most(const std::vector<MeasuredCube>& measured, const Measure& measure) {
  return static_cast<std::size_t>(std::ranges::max_element(measured, {}, measure) - measured.begin());
}

// Sums of one kind of pixels, those that are finite throughout.
class SpectrumSums {
 public:
  SpectrumSums(std::string of, std::size_t channels) : mean_(channels), squares_(channels) {
    spectrum_.of = std::move(of);
  }

  void add(std::span<const float> pixel) {
    if (!std::ranges::all_of(pixel, [](float each) { return std::isfinite(each); })) return;
    const double share = 1.0 / static_cast<double>(++spectrum_.pixels);
    for (std::size_t i = 0; i < pixel.size(); ++i) {
      const double value = static_cast<double>(pixel[i]);
      const double ahead = value - mean_[i];
      mean_[i] += ahead * share;
      squares_[i] += ahead * (value - mean_[i]);
    }
  }

  MeanSpectrum spectrum() {
    spectrum_.mean = mean_;
    for (const double each : squares_)
      spectrum_.deviation.push_back(
          spectrum_.pixels > 1 ? std::sqrt(each / static_cast<double>(spectrum_.pixels - 1)) : 0);
    return spectrum_;
  }

 private:
  MeanSpectrum spectrum_;
  std::vector<double> mean_, squares_;
};

}  // namespace

std::vector<CubeToShow> cubes_to_show(const Table& table, const std::vector<MeasuredCube>& measured) {
  std::vector<CubeToShow> shown;
  const auto show = [&](std::size_t place, std::string reason) {
    const auto row = static_cast<std::int64_t>(place);
    if (std::ranges::any_of(shown, [&](const CubeToShow& each) { return each.row == row; })) return;
    shown.push_back({row, table.cubes->names.at(static_cast<std::size_t>(cube_of(table, row))),
                     std::move(reason), measured[place]});
  };
  const auto show_fullest = [&](Array MeasuredCube::*marks, const char* what) {
    const std::size_t fullest =
        place_of_most(measured, [&](const MeasuredCube& cube) { return count_of_marked(cube.*marks); });
    if (const std::int64_t marked = count_of_marked(measured[fullest].*marks); marked > 0)
      show(fullest, fmt::format("the most {}: {}", what, human_count(static_cast<std::uint64_t>(marked))));
  };
  if (measured.front().actual.empty()) {
    if (!measured.front().marks.empty()) show_fullest(&MeasuredCube::marks, "pixels found");
    show(place_of_most(measured, highest_elsewhere), "the highest score");
    show(0, "the first of them");
    return shown;
  }
  show_fullest(&MeasuredCube::actual, "marked pixels");
  if (!measured.front().marks.empty()) {
    const std::size_t worst =
        place_of_most(measured, [](const MeasuredCube& cube) { return mistakes_in(cube).all(); });
    const Mistakes mistakes = mistakes_in(measured[worst]);
    if (mistakes.all() > 0)
      show(worst, fmt::format("the most pixels that are wrong: {} missed, {} marked in error",
                              human_count(static_cast<std::uint64_t>(mistakes.missed)),
                              human_count(static_cast<std::uint64_t>(mistakes.in_error))));
  } else {
    show(place_of_most(measured, highest_elsewhere), "the highest score outside of what is marked");
  }
  show(0, "the first of them");
  return shown;
}

Spectra spectra_of(const Table& table, const std::vector<CubeToShow>& shown) {
  const Cubes& cubes = *table.cubes;
  const auto channels = static_cast<std::size_t>(cubes.channels());
  const auto pixels = static_cast<std::size_t>(cubes.pixels());
  const std::int64_t numbers = std::ssize(shown) * cubes.pixels() * cubes.channels();
  const auto step = static_cast<std::size_t>(1 + numbers / most_numbers_of_spectra);
  const bool has_masks = table.cubes->has_masks();
  SpectrumSums marked("marked", channels), others(has_masks ? "not marked" : "all", channels);
  for (const CubeToShow& each : shown) {
    const auto actual = each.measured.actual.as<std::uint8_t>();
    const auto values = values_of_cube(table, each.row);
    for (std::size_t i = 0; i < pixels; ++i)
      if (!actual.empty() && actual[i] != 0)
        marked.add(values.subspan(i * channels, channels));
      else if (i % step == 0)
        others.add(values.subspan(i * channels, channels));
  }
  Spectra spectra;
  spectra.wavelengths = cubes.wavelengths;
  for (SpectrumSums* each : {&others, &marked})
    if (MeanSpectrum found = each->spectrum(); found.pixels > 0) spectra.means.push_back(std::move(found));
  return spectra;
}

}  // namespace stoker
