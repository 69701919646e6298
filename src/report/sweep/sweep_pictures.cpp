#include "report/sweep/sweep_pictures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/text.h"
#include "report/plot/axis_ticks.h"
#include "report/sweep/sweep_report.h"

namespace stoker {
namespace {

constexpr double width_of_axis = 940;  // in a picture, what the margins leave
constexpr std::size_t most_pictures = 40;

std::string ticks_of(const SweepContents::Setting& setting) {
  if (!setting.labels.empty())
    return named_x_tics(setting.labels, width_of_axis) +
           fmt::format("set bmargin -1\nset xrange [-0.5:{}]\n",
                       static_cast<double>(setting.labels.size()) - 0.5);
  if (!setting.wants_log_axis && !setting.is_drawn_by_logarithm) return "";
  const auto [low, high] = std::minmax_element(setting.x.begin(), setting.x.end());
  return logarithmic_x_axis(*low, *high);
}

}  // namespace

GnuplotPicture score_picture(const SweepContents& contents, const SweepContents::Setting& setting) {
  std::string points;
  std::string given_up;
  for (std::size_t i = 0; i < contents.trials.size(); ++i) {
    const SweepContents::Trial& trial = contents.trials[i];
    if (!trial.score) continue;
    (trial.status == "pruned" ? given_up : points) +=
        fmt::format("{:.9g} {:.9g} {:.9g}\n", setting.x[i], *trial.score, trial.spread);
  }
  const SweepContents::Trial* winner = contents.winning();
  const auto place = static_cast<std::size_t>(std::max<std::int64_t>(1, contents.winner) - 1);
  std::string lines;
  if (!given_up.empty())
    lines +=
        "'given_up.txt' using 1:2 with points pointtype 7 pointsize 1.1 linecolor rgb '#94a3b8' title "
        "'given up early', ";
  lines += fmt::format("'points.txt' {} linecolor rgb '#2563eb' title 'candidates'",
                       contents.folds > 0 ? "using 1:2:3 with yerrorbars pointtype 7 pointsize 1.3"
                                          : "using 1:2 with points pointtype 7 pointsize 1.3");
  if (winner != nullptr && winner->score && place < setting.x.size())
    lines += fmt::format(
        ", '-' using 1:2 with points pointtype 6 pointsize 3 linewidth 2 linecolor rgb '#ea580c' title "
        "'winner'\n{:.9g} {:.9g}\ne",
        setting.x[place], *winner->score);
  return {fmt::format(
              "set title {}\nset xlabel {}\nset ylabel {}\n{}set key top right\nset offsets graph 0.05, "
              "graph 0.05, graph 0.08, graph 0.05\nplot {}\n",
              gnuplot_text(fmt::format("{} against {}: {}", contents.metric, setting.name, contents.name)),
              gnuplot_text(setting.name, longest_axis_label),
              gnuplot_text(contents.metric, longest_axis_label), ticks_of(setting), lines),
          {{"points.txt", points.empty() ? "NaN NaN NaN\n" : points}, {"given_up.txt", given_up}}};
}

GnuplotPicture curves_picture(const SweepContents& contents) {
  GnuplotPicture picture;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < contents.curves.size(); ++i) {
    const SweepContents::Curve& curve = contents.curves[i];
    std::string data;
    for (std::size_t point = 0; point < curve.epochs.size(); ++point)
      data += std::isfinite(curve.losses[point])
                  ? fmt::format("{} {:.9g}\n", curve.epochs[point], curve.losses[point])
                  : fmt::format("{} NaN\n", curve.epochs[point]);
    const std::string file = fmt::format("curve{}.txt", i);
    lines.push_back(fmt::format("'{}' using 1:2 with lines linewidth {} title 'trial {}'", file,
                                i == 0 ? 3 : 1.5, curve.trial));
    picture.files.emplace_back(file, data);
  }
  picture.commands = fmt::format(
      "set title {}\nset xlabel 'Epoch'\nset ylabel 'Validation loss'\nset key top right\nplot {}\n",
      gnuplot_text("Losses of the best candidates: " + contents.name), join(lines, ", "));
  return picture;
}

namespace {

// A setting's name as part of a file's name.
std::string setting_in_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
      },
      '-');
  return name.substr(0, 100);
}

}  // namespace

void draw_sweep_plots(const std::filesystem::path& folder, const Notes& notes) {
  const SweepContents contents = read_sweep_contents(folder);
  if (contents.settings.empty() && contents.curves.empty()) return;
  const std::filesystem::path gnuplot = find_gnuplot();
  if (gnuplot.empty()) {
    notes(Severity::info,
          "no pictures were drawn: gnuplot is not installed (Debian, Ubuntu: gnuplot-nox); report.html has "
          "its plots without it");
    return;
  }
  Drawer drawer(gnuplot, folder / "plots", notes);
  for (std::size_t i = 0; i < std::min(most_pictures, contents.settings.size()); ++i)
    drawer.draw(score_picture(contents, contents.settings[i]),
                "score-" + setting_in_name(contents.settings[i].name) + ".png");
  if (!contents.curves.empty()) drawer.draw(curves_picture(contents), "curves.png");
  drawer.finish();
}

}  // namespace stoker
