#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/text/text.h"
#include "report/experts/expert_pictures.h"
#include "report/plot/axis_ticks.h"

namespace stoker {
namespace {

constexpr double above_expert_graph = 70;  // pixels, for the title
constexpr double smallest_numbered = 9;    // radius of an expert that has its number in it

struct TieLook {
  const char* colour;
  const char* dash;
  const char* head;
  const char* title;
};
// In the order of ExpertTie.
constexpr std::array<TieLook, 3> tie_looks{
    {{"#d97706", "solid", "nohead", "similar: answer for like rows with like weights"},
     {"#94a3b8", "solid", "head filled size 9, 18", "follows: asked second for the same rows"},
     {"#15803d", "2", "head filled size 9, 18", "specialises: began as its copy"}}};

double line_width(const DrawnTie& tie) {
  return 0.8 + 2.6 * std::clamp(tie.weight, 0.0, 1.0);
}

std::string arrows_of(const DrawnExperts& drawn) {
  std::string arrows;
  for (const DrawnTie& each : drawn.ties) {
    const TieLook& look = tie_looks.at(static_cast<std::size_t>(each.tie));
    fmt::format_to(
        std::back_inserter(arrows),
        "set arrow from {:.1f}, {:.1f} to {:.1f}, {:.1f} {} back linewidth {:.2f} dashtype {} linecolor "
        "rgb '{}'\n",
        each.x1, each.y1, each.x2, each.y2, look.head, line_width(each), look.dash, look.colour);
  }
  return arrows;
}

std::string labels_of(const DrawnExperts& drawn) {
  std::string labels;
  for (const DrawnExpert& each : drawn.experts) {
    if (!each.label.empty())
      fmt::format_to(std::back_inserter(labels),
                     "set label {} at {:.1f}, {:.1f} {} font ',{}' textcolor rgb '#1b2333' noenhanced\n",
                     gnuplot_text(each.label), each.label_x, each.label_y,
                     each.side < 0   ? "right"
                     : each.side > 0 ? "left"
                                     : "center",
                     points_of_expert_labels);
    if (each.radius < smallest_numbered) continue;
    const double font = font_that_fits(std::to_string(each.number).size(), 1.7 * each.radius, 2 * each.radius,
                                       {14, 12, 10, 8, 6});
    if (font > 0)
      fmt::format_to(std::back_inserter(labels),
                     "set label '{}' at {:.1f}, {:.1f} center front font ',{}' textcolor rgb '{}'\n",
                     each.number, each.x, each.y, font, each.specialisation > 0.5 ? "#ffffff" : "#1b2333");
  }
  return labels;
}

}  // namespace

GnuplotPicture expert_graph_picture(const ExpertPlaces& places, const ExpertsRecord::Moment& moment,
                                    const std::string& run) {
  const DrawnExperts drawn = places.drawn(moment);
  std::string circles;
  for (const DrawnExpert& each : drawn.experts)
    fmt::format_to(std::back_inserter(circles), "{:.1f} {:.1f} {:.1f} {:.4f}\n", each.x, each.y, each.radius,
                   each.specialisation);
  const std::string title = fmt::format("Experts in epoch {}", moment.epoch);
  std::string commands = fmt::format(
      "set lmargin at screen 0\nset rmargin at screen 1\nset tmargin at screen 1\nset bmargin at screen 0\n"
      "set xrange [0:{}]\nset yrange [{}:{}]\nunset border\nunset tics\nunset grid\n"
      "set label {} at screen 0.5, screen 0.955 center font ',20' textcolor rgb '#1b2333' noenhanced\n"
      "set label {} at screen 0.5, screen 0.915 center font ',14' textcolor rgb '#465064' noenhanced\n",
      width_of_expert_graph, 800 - above_expert_graph, -above_expert_graph,
      gnuplot_text(run.empty() ? title : fmt::format("{}: {}", title, run)),
      gnuplot_text(fmt::format("after step {}; the busiest of them is the largest",
                               human_count(static_cast<std::uint64_t>(moment.step)))));
  commands +=
      "set key at screen 0.03, screen 0.085 left center vertical Left reverse font ',12' samplen 5 spacing "
      "1.1\n"
      "set cbrange [0:1]\nset palette defined (0 '#eef2f9', 0.5 '#7da6f2', 1 '#1e40af')\n"
      "set colorbox horizontal user origin 0.62, 0.105 size 0.33, 0.02\nset cbtics 0.25 font ',12' textcolor "
      "rgb "
      "'#465064'\nset cblabel 'Specialisation (0: none, 1: one class or value)' font ',12' "
      "textcolor rgb '#465064'\n";
  commands += arrows_of(drawn) + labels_of(drawn);
  std::string plots;
  for (const TieLook& look : tie_looks)
    plots += fmt::format("NaN with lines linewidth 2 dashtype {} linecolor rgb '{}' title '{}', ", look.dash,
                         look.colour, look.title);
  commands += "set style fill solid 1 border rgb '#475569'\nplot " + plots;
  // A file without a line is an error to gnuplot, and so is nothing to plot.
  if (circles.empty()) return {commands + "NaN notitle\n", {}};
  return {commands + "'experts.txt' using 1:2:3:4 with circles fillcolor palette notitle\n",
          {{"experts.txt", std::move(circles)}}};
}

}  // namespace stoker
