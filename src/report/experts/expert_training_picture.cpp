#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "report/experts/expert_pictures.h"
#include "report/plot/epoch_lines.h"

namespace stoker {
namespace {

constexpr std::size_t most_timed_epochs = 2'000;

struct EventMark {
  const char* kind;
  const char* title;
  const char* colour;
  int point;
};
constexpr std::array<EventMark, 3> event_marks{{{"born", "born", "#15803d", 9},
                                                {"merged", "merged", "#a855f7", 13},
                                                {"removed", "removed", "#dc2626", 11}}};

// One panel of several below each other, which share their axis of epochs.
std::string panel_place(double top, double bottom, bool is_lowest) {
  return fmt::format(
      "set lmargin at screen 0.1\nset rmargin at screen 0.97\nset tmargin at screen {}\nset bmargin at "
      "screen "
      "{}\n{}",
      top, bottom,
      is_lowest ? "set format x '%g'\nset xlabel 'Epoch' font ',13' textcolor rgb '#465064'\n"
                : "set format x ''\nunset xlabel\n");
}

// Where the names of all panels stand below each other.
std::string name_of_panel(std::string_view name) {
  return fmt::format(
      "set label 2 '{}' at screen 0.025, graph 0.5 center rotate by 90 font ',13' textcolor rgb '#465064'\n",
      name);
}

// A panel is about 100 pixels high: more ticks than these would run into each other.
constexpr double most_panel_ticks = 4;

// Ticks 1, 2 or 5 times a power of ten apart.
std::string panel_ticks(std::initializer_list<std::span<const double>> lines) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::span<const double> line : lines)
    for (const double each : line)
      if (std::isfinite(each)) {
        low = std::min(low, each);
        high = std::max(high, each);
      }
  if (!(high > low)) return "";
  const double least = (high - low) / most_panel_ticks;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  const double step = power * (least <= 1 * power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
  return fmt::format("set ytics {:.9g}\n", step);
}

// Of a logarithmic axis. Each tick is written out if they are some decades apart: gnuplot visits every
// multiple of a tick up to the next one, which takes minutes if there are 1e9 of them.
std::string panel_decades(const LossCurve& curve) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const std::vector<double>* line : {&curve.training, &curve.validation})
    for (const double each : *line)
      if (each > 0 && std::isfinite(each)) {
        low = std::min(low, each);
        high = std::max(high, each);
      }
  const double first = std::log10(low), last = std::log10(high);
  const double decades = std::max(1.0, std::ceil((last - first) / most_panel_ticks));
  if (decades == 1) return "set ytics 10\n";
  std::string ticks;
  for (double power = std::ceil(first / decades) * decades; power <= last; power += decades)
    ticks += fmt::format("{}1e{}", ticks.empty() ? "" : ", ", static_cast<int>(power));
  return fmt::format("set ytics ({})\n", ticks);
}

std::string loss_panel(const LossCurve* curve, GnuplotPicture& picture) {
  if (curve == nullptr || curve->epochs.empty()) return "";
  const std::string plots =
      plot_of({curve->epochs, curve->training, curve->validation}, "losses.txt", picture);
  if (plots.empty()) return "";
  std::string commands = name_of_panel("Loss") + "set yrange [*:*]\n";
  if (curve->wants_log_axis())
    commands += "set logscale y\nset format y '10^{%T}'\n" + panel_decades(*curve);
  else
    commands += panel_ticks({curve->training, curve->validation});
  return commands + plots + "\nunset logscale y\nset format y '%g'\nset ytics autofreq\n";
}

std::string accuracy_panel(const EpochValues* values, GnuplotPicture& picture) {
  const std::optional<EpochLines> lines = values == nullptr ? std::nullopt : accuracy_lines(*values);
  if (!lines) return "";
  // Accuracy rises: its key is below.
  return name_of_panel("Accuracy") + "set yrange [*:*]\nset key right bottom at graph 0.99, graph 0.04\n" +
         panel_ticks({lines->training, lines->validation}) + plot_of(*lines, "accuracy.txt", picture) +
         "\nset key right top at graph 0.99, graph 0.97\nset ytics autofreq\n";
}

std::string seconds_panel(const LossCurve* curve, GnuplotPicture& picture) {
  if (curve == nullptr || curve->epochs.empty() || curve->seconds.size() != curve->epochs.size()) return "";
  const LossCurve shown = thinned(*curve, most_timed_epochs);
  std::string data;
  for (std::size_t i = 0; i < shown.epochs.size(); ++i)
    if (std::isfinite(shown.seconds[i]))
      fmt::format_to(std::back_inserter(data), "{} {:.9g}\n", shown.epochs[i], shown.seconds[i]);
  if (data.empty()) return "";
  picture.files.emplace_back("seconds.txt", std::move(data));
  const std::array<double, 1> zero{0};
  return name_of_panel("Seconds") + "set yrange [0:*]\n" + panel_ticks({zero, shown.seconds}) +
         "plot 'seconds.txt' using 1:2 with linespoints pointtype 7 pointsize 0.6 "
         "linewidth 2 linecolor rgb '#64748b' title 'for each epoch'\nset ytics autofreq\n";
}

// What changed their number, with how many lived after it; of one step one after the other.
std::vector<std::pair<const ExpertsRecord::Event*, std::int64_t>> counted_events(
    const ExpertsRecord& experts) {
  std::int64_t count = living_experts(experts).front().count;
  std::vector<std::pair<const ExpertsRecord::Event*, std::int64_t>> counted_ones;
  for (const ExpertsRecord::Event& each : experts.events) {
    const bool is_born = each.kind == "born";
    if (!is_born && each.kind != "merged" && each.kind != "removed") continue;
    count += is_born ? 1 : -1;
    counted_ones.emplace_back(&each, count);
  }
  return counted_ones;
}

std::string living_panel(const ExpertsRecord& experts, GnuplotPicture& picture) {
  const std::vector<LivingExperts> living = living_experts(experts);
  const auto epoch = [&](std::int64_t step) {
    return static_cast<double>(step) / static_cast<double>(experts.steps_per_epoch);
  };
  std::string data;
  std::int64_t most = 1;
  for (const LivingExperts& each : living) {
    fmt::format_to(std::back_inserter(data), "{:.9g} {}\n", epoch(each.step), each.count);
    most = std::max(most, each.count);
  }
  picture.files.emplace_back("living.txt", std::move(data));
  std::string commands = name_of_panel("Experts") +
                         fmt::format(
                             "set yrange [0:{}]\nplot 'living.txt' using 1:2 with fillsteps fillstyle solid "
                             "0.12 "
                             "linecolor rgb '#2563eb' notitle, '' using 1:2 with steps linewidth 2 linecolor "
                             "rgb '#2563eb' title "
                             "'living'",
                             static_cast<double>(most) * 1.35);
  const std::vector<std::pair<const ExpertsRecord::Event*, std::int64_t>> marks = counted_events(experts);
  for (const EventMark& mark : event_marks) {
    std::string points;
    for (const auto& [event, count] : marks)
      if (event->kind == mark.kind)
        fmt::format_to(std::back_inserter(points), "{:.9g} {}\n", epoch(event->step), count);
    if (points.empty()) continue;
    const std::string name = std::string(mark.kind) + ".txt";
    commands +=
        fmt::format(", '{}' using 1:2 with points pointtype {} pointsize 1.5 linecolor rgb '{}' title '{}'",
                    name, mark.point, mark.colour, mark.title);
    picture.files.emplace_back(name, std::move(points));
  }
  return commands + "\n";
}

std::string hesitation_panel(const ExpertsRecord& experts, GnuplotPicture& picture) {
  std::string data;
  for (const ExpertsRecord::Moment& each : experts.moments)
    if (std::isfinite(each.hesitation))
      fmt::format_to(std::back_inserter(data), "{:.9g} {:.6g}\n",
                     static_cast<double>(each.step) / static_cast<double>(experts.steps_per_epoch),
                     each.hesitation);
  if (data.empty()) return "";
  picture.files.emplace_back("hesitation.txt", std::move(data));
  return name_of_panel("Hesitation") +
         "set yrange [0:1.05]\nset ytics 0.25\nplot 'hesitation.txt' using 1:2 with "
         "linespoints pointtype 7 pointsize 0.8 linewidth 2 linecolor rgb '#0f766e' title 'of the router, 1: "
         "all "
         "experts are the same to it'\nset ytics autofreq\n";
}

}  // namespace

GnuplotPicture expert_metrics_picture(const ExpertsRecord& experts, const LossCurve* curve,
                                      const EpochValues* values, const std::string& run) {
  GnuplotPicture picture;
  std::vector<std::string> panels{loss_panel(curve, picture), accuracy_panel(values, picture),
                                  living_panel(experts, picture), hesitation_panel(experts, picture),
                                  seconds_panel(curve, picture)};
  std::erase(panels, "");
  picture.commands = fmt::format(
      "set multiplot title {} font ',20' noenhanced\nset xrange [0:{:.9g}]\nset tics font ',12'\n"
      "unset ylabel\nset key at graph 0.99, graph 0.97 right top "
      "horizontal font ',12' opaque fillcolor rgb '#ffffff'\n",
      gnuplot_text(run.empty() ? "Training of the experts" : "Training of the experts: " + run),
      std::max(1.0, static_cast<double>(experts.steps) / static_cast<double>(experts.steps_per_epoch)));
  const double height = 0.83 / static_cast<double>(panels.size());
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double top = 0.93 - height * static_cast<double>(i);
    picture.commands += panel_place(top, top - height + 0.035, i + 1 == panels.size()) + panels[i];
  }
  picture.commands += "unset multiplot\n";
  return picture;
}

}  // namespace stoker
