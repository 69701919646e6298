#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/text/text.h"
#include "report/plot/plotted_lines.h"

namespace stoker {
namespace {

PlottedLines over_channels(const std::vector<double>& wavelengths, std::size_t channels) {
  PlottedLines lines;
  lines.x_label = wavelengths.empty() ? "Channel" : "Wavelength in nm";
  lines.x = wavelengths;
  if (wavelengths.empty()) {
    lines.x.resize(channels);
    std::iota(lines.x.begin(), lines.x.end(), 0.0);
  }
  return lines;
}

// Some instruments count wavelengths down, or begin again with another sensor; what draws wants them rising.
void sort_along_x(PlottedLines& lines) {
  std::vector<std::size_t> order(lines.x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return lines.x[i]; });
  const auto sort = [&](std::vector<double>& numbers) {
    const std::vector<double> before = std::exchange(numbers, {});
    if (before.empty()) return;
    for (const std::size_t i : order) numbers.push_back(before[i]);
  };
  sort(lines.x);
  for (PlottedLines::Line& each : lines.lines) {
    sort(each.values);
    sort(each.deviation);
  }
}

PlottedLines lines_of_spectra(const Spectra& spectra) {
  PlottedLines lines = over_channels(spectra.wavelengths, spectra.means.front().mean.size());
  lines.caption = "Mean spectra of the cubes above, with a deviation on both sides";
  lines.y_label = "Value";
  for (const MeanSpectrum& each : spectra.means)
    lines.lines.push_back(
        {fmt::format("{}: {}", each.of, counted(static_cast<std::uint64_t>(each.pixels), "pixel")), each.mean,
         each.deviation});
  for (const ChosenBands& each : spectra.chosen) {
    std::vector<std::string> bands;
    for (const std::int64_t channel : each.channels) {
      lines.marks.push_back(lines.x[static_cast<std::size_t>(channel)]);
      bands.push_back(fmt::format("{:.5g}", lines.marks.back()));
    }
    lines.caption += fmt::format(" · dashed: chosen by {}, {}{}", each.node, join(bands, ", "),
                                 spectra.wavelengths.empty() ? "" : " nm");
  }
  return lines;
}

PlottedLines lines_of_components(const SpectralComponents& components) {
  PlottedLines lines = over_channels(components.wavelengths, components.weights.front().size());
  const std::size_t shown = components.weights.size();
  lines.caption = fmt::format(
      "Principal components of {}{}, each with its share of the variance when the statistics were learnt",
      components.node,
      components.count > static_cast<std::int64_t>(shown)
          ? fmt::format(", the first {} of {}", shown, components.count)
          : "");
  lines.y_label = "Weight";
  for (std::size_t i = 0; i < shown; ++i)
    lines.lines.push_back(
        {fmt::format("{}: {:.1f} %", i + 1, 100 * components.shares[i]), components.weights[i]});
  return lines;
}

PlottedLines lines_of_curve(const PrecisionRecall& curve, std::int64_t cubes) {
  PlottedLines lines;
  lines.caption = fmt::format("Precision over recall, all pixels of {}: average precision {:.3f}",
                              counted(static_cast<std::uint64_t>(cubes), "cube"), curve.average_precision);
  lines.x_label = "Recall";
  lines.y_label = "Precision";
  lines.x = curve.recall;
  lines.lines = {{"precision", curve.precision},
                 {"by chance", std::vector<double>(curve.recall.size(), curve.marked_share)}};
  lines.is_share = true;
  return lines;
}

}  // namespace

std::vector<PlottedLines> lines_of(const CubeRecord& record) {
  std::vector<PlottedLines> all;
  if (!record.curve.recall.empty()) all.push_back(lines_of_curve(record.curve, record.cubes));
  if (!record.spectra.means.empty()) all.push_back(lines_of_spectra(record.spectra));
  for (const SpectralComponents& each : record.components) all.push_back(lines_of_components(each));
  for (PlottedLines& each : all) sort_along_x(each);
  return all;
}

}  // namespace stoker
