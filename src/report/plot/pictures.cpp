#include "report/plot/pictures.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "base/text/text.h"
#include "predict/measure/metrics.h"
#include "report/plot/axis_ticks.h"
#include "report/plot/histogram.h"
#include "report/plot/line_colors.h"

namespace stoker {
namespace {

constexpr std::size_t most_drawn_epochs = 2'000;
// Of the cells of a confusion matrix in a picture, what the margins leave.
constexpr double width_of_cells = 760;
constexpr double height_of_cells = 480;

std::string set_title(std::string_view what, const std::string& run) {
  return fmt::format("set title {}\n",
                     gnuplot_text(run.empty() ? std::string(what) : fmt::format("{}: {}", what, run)));
}

// gnuplot takes the text NaN for a gap.
std::string number(double value) {
  return std::isnan(value) ? "NaN" : fmt::format("{:.9g}", value);
}

std::string axis_around(double lowest, double highest) {
  const double room = highest > lowest ? (highest - lowest) * 0.04 : std::max(std::abs(highest) * 0.04, 0.5);
  return fmt::format("[{}:{}]", number(lowest - room), number(highest + room));
}

// The rows and the first metrics.
std::string metrics_line(const Evaluation& evaluation) {
  constexpr std::size_t most_shown = 3;
  std::string text = evaluation.counted_rows();
  for (std::size_t i = 0; i < std::min(most_shown, evaluation.metrics.size()); ++i)
    text += fmt::format("    {} {:.4g}", title_of(evaluation.metrics[i].first), evaluation.metrics[i].second);
  return fmt::format(
      "set tmargin 5.5\nset title offset 0, 1.1\n"
      "set label 1 {} at graph 0.5, graph 1.035 center font ',14' textcolor rgb '#465064' noenhanced\n",
      gnuplot_text(text));
}

// Counts of a confusion matrix with the shares of each row, the actual class, by which cells are shaded.
struct Cell {
  std::size_t actual;
  std::size_t predicted;
  std::int64_t count;
  double share;
};

std::vector<Cell> cells_of(const ConfusionMatrix& matrix) {
  const std::size_t classes = matrix.classes.size();
  std::vector<Cell> cells;
  cells.reserve(classes * classes);
  for (std::size_t actual = 0; actual < classes; ++actual) {
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += static_cast<double>(matrix.counts[actual * classes + i]);
    for (std::size_t predicted = 0; predicted < classes; ++predicted) {
      const std::int64_t count = matrix.counts[actual * classes + predicted];
      cells.push_back({actual, predicted, count, sum > 0 ? static_cast<double>(count) / sum : 0});
    }
  }
  return cells;
}

std::string confusion_title(const ConfusionMatrix& matrix) {
  if (matrix.classes_left_out <= 0) return "Confusion matrix";
  const std::size_t shown = matrix.classes.size();
  return fmt::format("Confusion matrix of the {} most frequent of {} classes", shown,
                     human_count(shown + static_cast<std::size_t>(matrix.classes_left_out)));
}

std::string class_ticks(const std::vector<std::string>& names) {
  return named_x_tics(names, width_of_cells) + named_y_tics(names, height_of_cells);
}

// For numbers in the cells; 0: there is no room for them.
double font_of_counts(const ConfusionMatrix& matrix) {
  std::size_t longest = 1;
  for (const std::int64_t count : matrix.counts)
    longest = std::max(longest, human_count(static_cast<std::uint64_t>(count)).size());
  const auto classes = static_cast<double>(matrix.classes.size());
  return font_that_fits(longest, width_of_cells / classes, height_of_cells / classes, {18, 14, 10, 8});
}

}  // namespace

GnuplotPicture loss_picture(const LossCurve& whole, const std::string& run) {
  const LossCurve curve = thinned(whole, most_drawn_epochs);
  std::string data;
  for (std::size_t i = 0; i < curve.epochs.size(); ++i)
    fmt::format_to(std::back_inserter(data), "{} {} {}\n", curve.epochs[i], number(curve.training[i]),
                   number(curve.validation[i]));
  const char* style = curve.epochs.size() <= 30 ? "linespoints pointtype 7 pointsize 0.8" : "lines";
  std::string lines = fmt::format(
      "'loss.txt' using 1:2 with {} linewidth 2 linecolor rgb '{}' title 'training'", style, training_color);
  if (curve.has_validation())
    lines += fmt::format(", '' using 1:3 with {} linewidth 2 linecolor rgb '{}' title 'validation'", style,
                         validation_color);
  std::string mark;
  if (curve.best_epoch > 0 && curve.has_validation()) {
    const char* look = "linewidth 1.2 dashtype 2 linecolor rgb '#64748b'";
    mark = fmt::format("set arrow 1 from first {0}, graph 0 to first {0}, graph 1 nohead {1}\n",
                       curve.best_epoch, look);
    // A line of nothing, for its entry in the key.
    lines += fmt::format(", NaN with lines {} title 'best epoch: {}'", look, curve.best_epoch);
  }
  const double first = curve.epochs.front();
  const double last = curve.epochs.back();
  const double room = first == last ? 0.5 : 0;
  std::string commands = set_title("Loss", run);
  commands +=
      "set xlabel 'Epoch'\nset ylabel 'Loss'\nset key outside below center horizontal\nset bmargin 6.5\n";
  commands += fmt::format("set xrange [{}:{}]\n", first - room, last + room);
  if (last - first < 10) commands += "set xtics 1\n";
  if (curve.wants_log_axis()) commands += "set logscale y\nset format y '10^{%T}'\n";
  return {commands + mark + "plot " + lines + "\n", {{"loss.txt", std::move(data)}}};
}

// One picture for all of them: each would cost as much time again.
std::optional<GnuplotPicture> training_picture(const LossCurve& whole, const std::string& run) {
  const std::vector<Course> panels = courses_of(whole);
  if (panels.empty()) return std::nullopt;
  const LossCurve curve = thinned(whole, most_drawn_epochs);
  std::string data;
  for (std::size_t i = 0; i < curve.epochs.size(); ++i) {
    fmt::format_to(std::back_inserter(data), "{}", curve.epochs[i]);
    for (const Course& each : panels)
      fmt::format_to(std::back_inserter(data), " {}", number((curve.*each.values)[i]));
    data += '\n';
  }
  const bool is_alone = panels.size() == 1;
  std::string commands = fmt::format(
      "set multiplot layout {}, {} title {} font ',20' noenhanced\nunset key\nset xlabel 'Epoch'\n"
      "set tmargin 3\nset bmargin 3.5\nset tics font ',12'\nset xlabel font ',13'\nset ylabel font ',13'\n",
      is_alone ? 1 : 2, is_alone ? 1 : 2,
      gnuplot_text(run.empty() ? "Training" : fmt::format("Training: {}", run)));
  commands += fmt::format("set xrange [{}:{}]\n", curve.epochs.front(), curve.epochs.back());
  if (curve.epochs.back() - curve.epochs.front() < 10) commands += "set xtics 1\n";
  for (std::size_t i = 0; i < panels.size(); ++i)
    commands += fmt::format(
        "set title {} font ',15'\nset ylabel {}\nset format y '{}'\nset yrange [{}:*]\n"
        "plot 'epochs.txt' using 1:{} with lines linewidth 2 linecolor rgb '#2563eb'\n",
        gnuplot_text(panels[i].title), gnuplot_text(panels[i].axis),
        panels[i].values == &LossCurve::memory_bytes ? "%.1b %BB" : "%g",
        panels[i].begins_at_zero ? "0" : "*", i + 2);
  return GnuplotPicture{commands + "unset multiplot\n", {{"epochs.txt", std::move(data)}}};
}

GnuplotPicture predicted_picture(const Evaluation& evaluation, const std::string& run) {
  const std::vector<DrawnRow> rows = drawable_rows(evaluation);
  std::string data;
  double lowest = std::min(rows.front().actual, rows.front().predicted);
  double highest = lowest;
  for (const auto& [actual, predicted] : rows) {
    fmt::format_to(std::back_inserter(data), "{} {}\n", number(actual), number(predicted));
    lowest = std::min({lowest, actual, predicted});
    highest = std::max({highest, actual, predicted});
  }
  const std::string range = axis_around(lowest, highest);
  std::string commands = set_title("Predicted against actual", run) + metrics_line(evaluation);
  commands += fmt::format("set xlabel {}\nset ylabel {}\n",
                          gnuplot_text("Actual " + evaluation.target, longest_axis_label),
                          gnuplot_text("Predicted " + evaluation.target, longest_axis_label));
  commands += fmt::format("set xrange {0}\nset yrange {0}\nset key bottom right\n", range);
  commands +=
      "plot 'rows.txt' using 1:2 with points pointtype 7 pointsize 0.7 linecolor rgb '#a02563eb' title "
      "'rows', "
      "x with lines linewidth 1.5 linecolor rgb '#ea580c' title 'predicted = actual'\n";
  return {commands, {{"rows.txt", std::move(data)}}};
}

GnuplotPicture residuals_picture(const Evaluation& evaluation, const std::string& run) {
  std::vector<double> residuals;
  for (const auto& [actual, predicted] : drawable_rows(evaluation)) residuals.push_back(actual - predicted);
  const Histogram histogram = histogram_of(std::move(residuals));
  std::string data;
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin)
    fmt::format_to(std::back_inserter(data), "{} {}\n", number(histogram.centre(bin)), histogram.counts[bin]);
  std::string commands = set_title("Residuals", run) + metrics_line(evaluation);
  commands += fmt::format(
      "set xlabel {}\nset ylabel 'Rows'\nunset key\nset yrange [0:*]\nset offsets 0, 0, graph 0.08, 0\n",
      gnuplot_text("Actual − predicted " + evaluation.target, longest_axis_label));
  commands += fmt::format(
      "set xrange [{}:{}]\nset boxwidth {}\nset style fill solid 0.75 border rgb '#ffffff'\n"
      "set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead linecolor rgb '#ea580c' linewidth 1.5 "
      "front\n",
      number(histogram.centre(0) - histogram.width),
      number(histogram.centre(histogram.counts.size() - 1) + histogram.width), number(histogram.width));
  commands += "plot 'bins.txt' using 1:2 with boxes linecolor rgb '#2563eb'\n";
  return {commands, {{"bins.txt", std::move(data)}}};
}

GnuplotPicture confusion_picture(const Evaluation& evaluation, const std::string& run) {
  const auto& matrix = *evaluation.chart<ConfusionMatrix>();
  const std::size_t classes = matrix.classes.size();
  std::string shades;
  std::string dark;   // numbers on light cells
  std::string light;  // numbers on dark cells
  for (const Cell& cell : cells_of(matrix)) {
    fmt::format_to(std::back_inserter(shades), "{} {} {:.6g}\n", cell.predicted, cell.actual, cell.share);
    fmt::format_to(std::back_inserter(cell.share > 0.5 ? light : dark), "{} {} {}\n", cell.predicted,
                   cell.actual, human_count(static_cast<std::uint64_t>(cell.count)));
  }
  std::string commands = set_title(confusion_title(matrix), run) + class_ticks(matrix.classes);
  commands += fmt::format("set xlabel {}\nset ylabel {}\n",
                          gnuplot_text("Predicted " + evaluation.target, longest_axis_label),
                          gnuplot_text("Actual " + evaluation.target, longest_axis_label));
  commands += fmt::format(
      "set xrange [-0.5:{0}]\nset yrange [{0}:-0.5]\nunset grid\nunset key\nset border 0\nset cbrange [0:1]\n"
      "set lmargin -1\nset rmargin -1\nset bmargin -1\n"
      "set palette defined (0 '#f5f7fb', 0.5 '#7da6f2', 1 '#1e40af')\n"
      "set cblabel 'Share of the actual class' offset 1.5 textcolor rgb '#465064'\nset cbtics 0.25\n",
      static_cast<double>(classes) - 0.5);
  commands += "plot 'shades.txt' using 1:2:3 with image";
  std::vector<std::pair<std::string, std::string>> files{{"shades.txt", std::move(shades)}};
  if (const double size = font_of_counts(matrix); size > 0) {
    // An empty data file is an error to gnuplot.
    if (!dark.empty())
      commands +=
          fmt::format(", 'dark.txt' using 1:2:3 with labels font ',{}' textcolor rgb '#1b2333'", size);
    if (!light.empty())
      commands +=
          fmt::format(", 'light.txt' using 1:2:3 with labels font ',{}' textcolor rgb '#ffffff'", size);
    files.emplace_back("dark.txt", std::move(dark));
    files.emplace_back("light.txt", std::move(light));
  }
  return {commands + "\n", std::move(files)};
}

}  // namespace stoker
