#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "base/text.h"
#include "report/spectral_pictures.h"

namespace stoker {
namespace {

constexpr std::size_t most_curve_points = 1'000;
constexpr std::array<const char*, 8> curve_colours{"#2563eb", "#ea580c", "#15803d", "#a855f7",
                                                   "#dc2626", "#0f766e", "#ca8a04", "#64748b"};

double place_of_channel(std::span<const double> wavelengths, std::size_t channel) {
  return wavelengths.empty() ? static_cast<double>(channel) : wavelengths[channel];
}

std::string spectral_axis(std::span<const double> wavelengths) {
  return fmt::format("set xlabel '{}'\n", wavelengths.empty() ? "Channel" : "Wavelength in nm");
}

// Of the channels of some pixels, those that are finite throughout.
struct MeanSpectrum {
  double pixels = 0;
  std::vector<double> mean, squares;

  explicit MeanSpectrum(std::size_t channels) : mean(channels), squares(channels) {}
  void add(std::span<const float> pixel) {
    if (!std::ranges::all_of(pixel, [](float each) { return std::isfinite(each); })) return;
    pixels += 1;
    for (std::size_t i = 0; i < pixel.size(); ++i) {
      const double ahead = static_cast<double>(pixel[i]) - mean[i];
      mean[i] += ahead / pixels;
      squares[i] += ahead * (static_cast<double>(pixel[i]) - mean[i]);
    }
  }
  double deviation(std::size_t channel) const {
    return pixels > 1 ? std::sqrt(squares[channel] / (pixels - 1)) : 0;
  }
};

// Its mean and a deviation on both sides.
std::string drawn_spectrum(const MeanSpectrum& spectrum, const SpectralPixels& cube, const std::string& file,
                           const char* colour, std::string_view name, GnuplotPicture& picture) {
  if (spectrum.pixels == 0) return "";
  std::string data;
  for (std::size_t i = 0; i < spectrum.mean.size(); ++i)
    fmt::format_to(std::back_inserter(data), "{:.9g} {:.9g} {:.9g} {:.9g}\n",
                   place_of_channel(cube.wavelengths, i), spectrum.mean[i],
                   spectrum.mean[i] - spectrum.deviation(i), spectrum.mean[i] + spectrum.deviation(i));
  picture.files.emplace_back(file, std::move(data));
  return fmt::format(
      "'{0}' using 1:3:4 with filledcurves fillstyle solid 0.15 noborder linecolor rgb '{1}' notitle, '{0}' "
      "using 1:2 with lines linewidth 2 linecolor rgb '{1}' title '{2}: {3}'",
      file, colour, name, counted(static_cast<std::uint64_t>(spectrum.pixels), "pixel"));
}

}  // namespace

GnuplotPicture spectra_picture(const SpectralPixels& cube, std::span<const std::int64_t> chosen,
                               const std::string& title) {
  const auto channels = static_cast<std::size_t>(cube.channels);
  MeanSpectrum marked(channels), others(channels);
  for (std::size_t i = 0; i < static_cast<std::size_t>(cube.pixels()); ++i)
    (!cube.mask.empty() && cube.mask[i] != 0 ? marked : others)
        .add(cube.values.subspan(i * channels, channels));
  GnuplotPicture picture;
  picture.commands =
      fmt::format("set title {}\nset key top right\nset ylabel 'Value'\n", gnuplot_text(title)) +
      spectral_axis(cube.wavelengths);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i] >= 0 && chosen[i] < cube.channels)
      picture.commands += fmt::format(
          "set arrow {} from {:.9g}, graph 0 to {:.9g}, graph 1 nohead linewidth 1.2 dashtype 2 linecolor "
          "rgb "
          "'#64748b'\n",
          i + 1, place_of_channel(cube.wavelengths, static_cast<std::size_t>(chosen[i])),
          place_of_channel(cube.wavelengths, static_cast<std::size_t>(chosen[i])));
  std::string plots = drawn_spectrum(others, cube, "others.txt", "#2563eb",
                                     cube.mask.empty() ? "all" : "not marked", picture);
  const std::string of_marked = drawn_spectrum(marked, cube, "marked.txt", "#ea580c", "marked", picture);
  if (!plots.empty() && !of_marked.empty()) plots += ", ";
  plots += of_marked;
  picture.commands += plots.empty() ? "set label 1 'no pixel has finite values' at graph 0.5, graph 0.5 "
                                      "center\nset xrange [0:1]\nset yrange [0:1]\nplot NaN notitle\n"
                                    : "plot " + plots + "\n";
  return picture;
}

GnuplotPicture components_picture(std::span<const float> components, std::int64_t channels,
                                  std::span<const double> wavelengths, std::span<const float> shares,
                                  const std::string& title) {
  const auto width = static_cast<std::size_t>(channels);
  const std::size_t count = std::min(components.size() / width, curve_colours.size());
  GnuplotPicture picture;
  std::string data, plots;
  for (std::size_t channel = 0; channel < width; ++channel) {
    fmt::format_to(std::back_inserter(data), "{:.9g}", place_of_channel(wavelengths, channel));
    for (std::size_t i = 0; i < count; ++i)
      fmt::format_to(std::back_inserter(data), " {:.9g}", components[i * width + channel]);
    data += "\n";
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string share =
        i < shares.size() ? fmt::format(", {:.1f} % of the variance", 100 * static_cast<double>(shares[i]))
                          : "";
    plots += fmt::format(
        "{}'components.txt' using 1:{} with lines linewidth 2 linecolor rgb '{}' title "
        "'component {}{}'",
        plots.empty() ? "" : ", ", i + 2, curve_colours[i], i + 1, share);
  }
  picture.files.emplace_back("components.txt", std::move(data));
  const std::string more = components.size() / width > count
                               ? fmt::format(" (the first {} of {})", count, components.size() / width)
                               : "";
  picture.commands =
      fmt::format(
          "set title {}\nset key top right\nset ylabel 'Weight'\nset xzeroaxis linecolor rgb '#8a94a6'\n",
          gnuplot_text(title + more)) +
      spectral_axis(wavelengths) + "plot " + plots + "\n";
  return picture;
}

PrecisionRecall precision_recall(std::span<const float> scores, std::span<const std::uint8_t> marks) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!std::isnan(scores[i])) order.push_back(i);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto marked =
      static_cast<double>(std::ranges::count_if(order, [&](std::size_t i) { return marks[i] != 0; }));
  PrecisionRecall found;
  if (marked == 0) return found;
  double hits = 0;
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    double here = 0;
    last = first;
    do {
      here += marks[order[last++]] != 0 ? 1 : 0;
    } while (last < order.size() && scores[order[last]] == scores[order[first]]);
    hits += here;
    found.recall.push_back(hits / marked);
    found.precision.push_back(hits / static_cast<double>(last));
    found.average_precision += here / marked * found.precision.back();
  }
  return found;
}

std::optional<GnuplotPicture> precision_recall_picture(std::span<const float> scores,
                                                       std::span<const std::uint8_t> marks,
                                                       const std::string& title) {
  const PrecisionRecall curve = precision_recall(scores, marks);
  if (curve.recall.empty()) return std::nullopt;
  const std::size_t step = std::max<std::size_t>(1, curve.recall.size() / most_curve_points);
  std::string data;
  for (std::size_t i = 0; i < curve.recall.size(); i += step)
    fmt::format_to(std::back_inserter(data), "{:.6g} {:.6g}\n", curve.recall[i], curve.precision[i]);
  fmt::format_to(std::back_inserter(data), "{:.6g} {:.6g}\n", curve.recall.back(), curve.precision.back());
  const auto marked = std::ranges::count_if(marks, [](std::uint8_t each) { return each != 0; });
  return GnuplotPicture{
      fmt::format("set title {}\nset key bottom left\nset xlabel 'Recall'\nset ylabel 'Precision'\n"
                  "set xrange [0:1]\nset yrange [0:1.02]\n"
                  "plot 'curve.txt' using 1:2 with steps linewidth 2 linecolor rgb '#2563eb' title "
                  "'average precision {:.3f}', {:.9g} with lines dashtype 2 linecolor rgb '#64748b' title "
                  "'by chance'\n",
                  gnuplot_text(title), curve.average_precision,
                  static_cast<double>(marked) / static_cast<double>(marks.size())),
      {{"curve.txt", std::move(data)}}};
}

}  // namespace stoker
