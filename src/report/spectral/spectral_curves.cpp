#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/text/text.h"
#include "report/spectral/spectral_pictures.h"

namespace stoker {
namespace {

constexpr std::array<const char*, 8> curve_colours{"#2563eb", "#ea580c", "#15803d", "#a855f7",
                                                   "#dc2626", "#0f766e", "#ca8a04", "#64748b"};
constexpr std::size_t most_panels = 4;

double place_of_channel(const std::vector<double>& wavelengths, std::size_t channel) {
  return wavelengths.empty() ? static_cast<double>(channel) : wavelengths[channel];
}

std::string spectral_axis(const std::vector<double>& wavelengths) {
  return fmt::format("set xlabel '{}'\n", wavelengths.empty() ? "Channel" : "Wavelength in nm");
}

std::string titled(std::string_view what, const std::string& run) {
  return gnuplot_text(run.empty() ? std::string(what) : fmt::format("{}: {}", what, run));
}

// Its mean and a deviation on both sides.
std::string file_of_spectrum(const MeanSpectrum& spectrum, const std::vector<double>& wavelengths) {
  std::string data;
  for (std::size_t i = 0; i < spectrum.mean.size(); ++i)
    fmt::format_to(std::back_inserter(data), "{:.9g} {:.9g} {:.9g} {:.9g}\n",
                   place_of_channel(wavelengths, i), spectrum.mean[i],
                   spectrum.mean[i] - spectrum.deviation[i], spectrum.mean[i] + spectrum.deviation[i]);
  return data;
}

std::string panel_of(const SpectralComponents& components, std::size_t number, GnuplotPicture& picture) {
  const std::size_t count = std::min(components.weights.size(), curve_colours.size());
  std::string data, plots;
  for (std::size_t channel = 0; channel < components.weights.front().size(); ++channel) {
    fmt::format_to(std::back_inserter(data), "{:.9g}", place_of_channel(components.wavelengths, channel));
    for (std::size_t i = 0; i < count; ++i)
      fmt::format_to(std::back_inserter(data), " {:.9g}", components.weights[i][channel]);
    data += "\n";
  }
  const std::string file = fmt::format("components{}.txt", number);
  for (std::size_t i = 0; i < count; ++i)
    plots += fmt::format("{}'{}' using 1:{} with lines linewidth 2 linecolor rgb '{}' title '{}: {:.1f} %'",
                         plots.empty() ? "" : ", ", file, i + 2, curve_colours[i], i + 1,
                         100 * components.shares[i]);
  picture.files.emplace_back(file, std::move(data));
  const std::string more = components.count > static_cast<std::int64_t>(count)
                               ? fmt::format(", the first {} of {}", count, components.count)
                               : "";
  return fmt::format("set title {} font ',15'\n{}plot {}\n", gnuplot_text(components.node + more),
                     spectral_axis(components.wavelengths), plots);
}

}  // namespace

GnuplotPicture spectra_picture(const Spectra& spectra, const std::string& run) {
  GnuplotPicture picture;
  picture.commands =
      fmt::format("set title {}\nset key top right\nset ylabel 'Value'\n", titled("Mean spectra", run)) +
      spectral_axis(spectra.wavelengths);
  int arrows = 0;
  for (const ChosenBands& chosen : spectra.chosen)
    for (const std::int64_t channel : chosen.channels)
      picture.commands += fmt::format(
          "set arrow {0} from {1:.9g}, graph 0 to {1:.9g}, graph 1 nohead linewidth 1.2 dashtype 2 linecolor "
          "rgb '#64748b'\n",
          ++arrows, place_of_channel(spectra.wavelengths, static_cast<std::size_t>(channel)));
  std::string bands, plots;  // no band over a line
  for (std::size_t i = 0; i < spectra.means.size(); ++i) {
    const MeanSpectrum& spectrum = spectra.means[i];
    const char* colour = curve_colours[i % curve_colours.size()];
    const std::string file = fmt::format("spectrum{}.txt", i);
    picture.files.emplace_back(file, file_of_spectrum(spectrum, spectra.wavelengths));
    bands += fmt::format(
        "{}'{}' using 1:3:4 with filledcurves fillstyle transparent solid 0.15 noborder linecolor rgb '{}' "
        "notitle",
        i == 0 ? "" : ", ", file, colour);
    plots +=
        fmt::format(", '{}' using 1:2 with lines linewidth 2 linecolor rgb '{}' title {}", file, colour,
                    gnuplot_text(fmt::format("{}: {}", spectrum.of,
                                             counted(static_cast<std::uint64_t>(spectrum.pixels), "pixel"))));
  }
  // A line of nothing, for its entry in the key.
  for (const ChosenBands& chosen : spectra.chosen)
    plots += fmt::format(", NaN with lines linewidth 1.2 dashtype 2 linecolor rgb '#64748b' title {}",
                         gnuplot_text("chosen by " + chosen.node));
  picture.commands += "plot " + bands + plots + "\n";
  return picture;
}

GnuplotPicture components_picture(const std::vector<SpectralComponents>& components, const std::string& run) {
  GnuplotPicture picture;
  const std::size_t panels = std::min(components.size(), most_panels);
  picture.commands = fmt::format(
      "set multiplot layout {}, 1 title {} font ',20' noenhanced\n"
      "set rmargin 16\nset key outside right top vertical maxrows 8 font ',13'\n"
      "set ylabel 'Weight'\nset xzeroaxis linecolor rgb '#8a94a6'\nset tics font ',12'\n"
      "set xlabel font ',13'\nset ylabel font ',13'\n",
      panels, titled("Principal components", run));
  for (std::size_t i = 0; i < panels; ++i) picture.commands += panel_of(components[i], i, picture);
  picture.commands += "unset multiplot\n";
  return picture;
}

GnuplotPicture precision_recall_picture(const PrecisionRecall& curve, const std::string& run) {
  std::string data = fmt::format("0 {:.6g}\n", curve.precision.front());
  for (std::size_t i = 0; i < curve.recall.size(); ++i)
    fmt::format_to(std::back_inserter(data), "{:.6g} {:.6g}\n", curve.recall[i], curve.precision[i]);
  return GnuplotPicture{
      fmt::format("set title {}\nset key bottom left\nset xlabel 'Recall'\nset ylabel 'Precision'\n"
                  "set xrange [0:1]\nset yrange [0:1.02]\n"
                  "plot 'curve.txt' using 1:2 with lines linewidth 2 linecolor rgb '#2563eb' title "
                  "'average precision {:.3f}', {:.9g} with lines dashtype 2 linecolor rgb '#64748b' title "
                  "'by chance'\n",
                  titled("Precision over recall of pixels", run), curve.average_precision,
                  curve.marked_share),
      {{"curve.txt", std::move(data)}}};
}

}  // namespace stoker
