#include "report/plot/epoch_lines.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "report/plot/line_colors.h"

namespace stoker {
namespace {

constexpr std::size_t most_plotted_epochs = 2'000;
constexpr std::size_t most_epochs_with_dots = 30;
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

bool has_number(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return std::isfinite(value); });
}

std::string cell_of(const std::vector<double>& values, std::size_t i) {
  return i < values.size() && std::isfinite(values[i]) ? fmt::format("{:.9g}", values[i]) : "NaN";
}

}  // namespace

std::optional<EpochLines> accuracy_lines(const EpochValues& values) {
  const std::vector<double>* training = values.column("train_accuracy");
  const std::vector<double>* validation = values.column("validation_accuracy");
  EpochLines lines{values.epochs, {}, {}};
  if (training != nullptr) lines.training = *training;
  if (validation != nullptr) lines.validation = *validation;
  if (!has_number(lines.training) && !has_number(lines.validation)) return std::nullopt;
  lines.training.resize(lines.epochs.size(), no_number);
  lines.validation.resize(lines.epochs.size(), no_number);
  return lines;
}

std::string plot_of(const EpochLines& lines, const std::string& file, GnuplotPicture& picture) {
  std::string data;
  const std::size_t stride = 1 + lines.epochs.size() / most_plotted_epochs;
  for (std::size_t i = 0; i < lines.epochs.size(); ++i)
    if (i % stride == 0 || i + 1 == lines.epochs.size())
      fmt::format_to(std::back_inserter(data), "{} {} {}\n", lines.epochs[i], cell_of(lines.training, i),
                     cell_of(lines.validation, i));
  const char* style =
      lines.epochs.size() <= most_epochs_with_dots ? "linespoints pointtype 7 pointsize 0.8" : "lines";
  std::string plots;
  const auto add = [&](int column, const char* color, const char* title) {
    plots += fmt::format("{}'{}' using 1:{} with {} linewidth 2 linecolor rgb '{}' title '{}'",
                         plots.empty() ? "plot " : ", ", file, column, style, color, title);
  };
  if (has_number(lines.training)) add(2, training_color, "training");
  if (has_number(lines.validation)) add(3, validation_color, "validation");
  if (!plots.empty()) picture.files.emplace_back(file, std::move(data));
  return plots;
}

GnuplotPicture accuracy_picture(const EpochLines& lines, double best_epoch, const std::string& run) {
  GnuplotPicture picture;
  std::string plots = plot_of(lines, "accuracy.txt", picture);
  std::string mark;
  if (best_epoch > 0 && has_number(lines.validation)) {
    const char* look = "linewidth 1.2 dashtype 2 linecolor rgb '#64748b'";
    mark = fmt::format("set arrow 1 from first {0}, graph 0 to first {0}, graph 1 nohead {1}\n", best_epoch,
                       look);
    plots += fmt::format(", NaN with lines {} title 'best epoch: {}'", look, best_epoch);
  }
  const double room = lines.epochs.front() == lines.epochs.back() ? 0.5 : 0;
  picture.commands = fmt::format(
      "set title {}\nset xlabel 'Epoch'\nset ylabel 'Accuracy'\nset key outside below center horizontal\n"
      "set bmargin 6.5\nset xrange [{}:{}]\n",
      gnuplot_text(run.empty() ? "Accuracy" : "Accuracy: " + run), lines.epochs.front() - room,
      lines.epochs.back() + room);
  if (lines.epochs.back() - lines.epochs.front() < 10) picture.commands += "set xtics 1\n";
  picture.commands += mark + plots + "\n";
  return picture;
}

}  // namespace stoker
