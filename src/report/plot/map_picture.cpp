#include <iterator>

#include <fmt/format.h>

#include "report/plot/drawn_map.h"
#include "report/plot/pictures.h"

namespace stoker {

GnuplotPicture map_picture(const Evaluation& evaluation, const std::string& run) {
  const DrawnMap map = drawn_map(evaluation).value();
  std::string places;
  for (const DrawnPlace& each : map.places)
    fmt::format_to(std::back_inserter(places), "{:.9g} {:.9g} {:.9g} {:.9g} {:.9g}\n", each.actual_x,
                   each.actual_y, each.predicted_x, each.predicted_y, each.radius);
  std::string commands = fmt::format("set title {}\n", gnuplot_text(run.empty() ? "Map" : "Map: " + run));
  commands += fmt::format("set xlabel {}\nset ylabel {}\n",
                          gnuplot_text(evaluation.target + "_0", longest_axis_label),
                          gnuplot_text(evaluation.target + "_1", longest_axis_label));
  commands += fmt::format(
      "set size ratio -1\nset xrange [{:.9g}:{:.9g}]\nset yrange [{:.9g}:{:.9g}]\nset key outside\n",
      map.left, map.left + map.side, map.bottom, map.bottom + map.side);
  commands +=
      "set style fill transparent solid 0.08 border\n"
      "plot 'places.txt' using 3:4:5 with circles linecolor rgb '#2563eb' title '68 %', "
      "'' using 1:2:($3-$1):($4-$2) with vectors nohead linewidth 1.2 linecolor rgb '#ea580c' title 'error', "
      "'' using 1:2 with points pointtype 7 pointsize 0.6 linecolor rgb '#1b2333' title 'actual'\n";
  return {commands, {{"places.txt", std::move(places)}}};
}

}  // namespace stoker
