#include "report/expert_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "report/axis_ticks.h"

namespace stoker {
namespace {

constexpr std::size_t most_loss_points = 2'000;
constexpr std::size_t most_drawn_experts = 256;
constexpr std::size_t most_drawn_bars = 60;
constexpr double width_of_shares = 820;
constexpr double height_of_shares = 560;

std::string with_run(std::string_view what, const std::string& run) {
  return gnuplot_text(run.empty() ? std::string(what) : fmt::format("{}: {}", what, run));
}

std::string point_or_gap(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : "NaN";
}

std::string whole_text(double value) {
  return human_count(static_cast<std::uint64_t>(std::max(0.0, std::round(value))));
}

// What stands below the title.
std::string second_line(const std::string& text) {
  return fmt::format(
      "set tmargin 5.5\nset title offset 0, 1.1\n"
      "set label 1 {} at graph 0.5, graph 1.035 center font ',14' textcolor rgb '#465064' noenhanced\n",
      gnuplot_text(text, 110));
}

std::string when_text(const ExpertsRecord::Moment& moment) {
  return fmt::format("after step {}, in epoch {}", human_count(static_cast<std::uint64_t>(moment.step)),
                     moment.epoch);
}

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

std::string loss_panel(const LossCurve* curve, std::vector<std::pair<std::string, std::string>>& files) {
  if (curve == nullptr || curve->epochs.empty()) return "";
  const LossCurve shown = thinned(*curve, most_loss_points);
  std::string data;
  for (std::size_t i = 0; i < shown.epochs.size(); ++i)
    fmt::format_to(std::back_inserter(data), "{} {} {}\n", shown.epochs[i], point_or_gap(shown.training[i]),
                   point_or_gap(shown.validation[i]));
  files.emplace_back("losses.txt", std::move(data));
  const char* style = shown.epochs.size() <= 30 ? "linespoints pointtype 7 pointsize 0.6" : "lines";
  std::string commands = name_of_panel("Loss") + "set yrange [*:*]\n";
  if (shown.wants_log_axis()) commands += "set logscale y\nset format y '10^{%T}'\n";
  commands += fmt::format(
      "plot 'losses.txt' using 1:2 with {} linewidth 2 linecolor rgb '#2563eb' title 'training'", style);
  if (shown.has_validation())
    commands +=
        fmt::format(", '' using 1:3 with {} linewidth 2 linecolor rgb '#ea580c' title 'validation'", style);
  return commands + "\nunset logscale y\nset format y '%g'\n";
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

std::string living_panel(const ExpertsRecord& experts,
                         std::vector<std::pair<std::string, std::string>>& files) {
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
  files.emplace_back("living.txt", std::move(data));
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
    files.emplace_back(name, std::move(points));
  }
  return commands + "\n";
}

std::string hesitation_panel(const ExpertsRecord& experts,
                             std::vector<std::pair<std::string, std::string>>& files) {
  std::string data;
  for (const ExpertsRecord::Moment& each : experts.moments)
    if (std::isfinite(each.hesitation))
      fmt::format_to(std::back_inserter(data), "{:.9g} {:.6g}\n",
                     static_cast<double>(each.step) / static_cast<double>(experts.steps_per_epoch),
                     each.hesitation);
  if (data.empty()) return "";
  files.emplace_back("hesitation.txt", std::move(data));
  return name_of_panel("Hesitation") +
         "set yrange [0:1.05]\nset ytics 0.25\nplot 'hesitation.txt' using 1:2 with "
         "linespoints pointtype 7 pointsize 0.8 linewidth 2 linecolor rgb '#0f766e' title 'of the router, 1: "
         "all "
         "experts are the same to it'\nset ytics autofreq\n";
}

std::string bars_of(const std::vector<std::string>& names, const std::vector<double>& counts,
                    std::vector<std::pair<std::string, std::string>>& files) {
  std::string data;
  std::string labels;
  const double most = *std::ranges::max_element(counts);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    fmt::format_to(std::back_inserter(data), "{} {:.9g}\n", i, counts[i]);
    fmt::format_to(std::back_inserter(labels), "{} {:.9g} {}\n", i, counts[i], whole_text(counts[i]));
  }
  std::size_t longest = 1;
  for (const double each : counts) longest = std::max(longest, whole_text(each).size());
  const double room = width_of_shares / static_cast<double>(counts.size());
  std::string commands = named_x_tics(names, width_of_shares) +
                         fmt::format(
                             "unset key\nset xrange [{}:{}]\nset yrange [0:{}]\nset boxwidth {}\n"
                             "set style fill solid 0.8 noborder\nset bmargin -1\n",
                             counts.size() == 1 ? -2.0 : -0.6,
                             counts.size() == 1 ? 2.0 : static_cast<double>(counts.size()) - 0.4,
                             most > 0 ? most * 1.15 : 1, counts.size() == 1 ? 0.8 : 0.7);
  if (most <= 10) commands += "set ytics 1\n";
  commands += "plot 'bars.txt' using 1:2 with boxes linecolor rgb '#2563eb'";
  files.emplace_back("bars.txt", std::move(data));
  if (const double font = font_that_fits(longest, room, 100, {16, 12, 9}); font > 0) {
    commands += fmt::format(
        ", 'labels.txt' using 1:2:3 with labels offset 0, 0.8 font ',{}' textcolor rgb '#1b2333'", font);
    files.emplace_back("labels.txt", std::move(labels));
  }
  return commands + "\n";
}

// Shares are those from before a sleep; experts that it merged or removed are not there any more.
std::string missing_text(const ExpertsRecord::Moment& moment, std::size_t classes) {
  for (std::size_t c = 0; c < classes; ++c) {
    double sum = 0;
    for (const ExpertsRecord::Node& each : moment.nodes) sum += each.classes.empty() ? 0 : each.classes[c];
    if (sum > 0 && sum < 0.99)
      return "; what a column lacks to 1, experts answered that were then merged or removed";
  }
  return "; a column adds up to 1";
}

GnuplotPicture rows_of_experts(const ExpertsRecord::Moment& moment, const std::string& run) {
  std::vector<ExpertsRecord::Node> nodes = moment.nodes;
  std::string left_out;
  if (nodes.size() > most_drawn_bars) {
    left_out = fmt::format("; the {} busiest of {}", most_drawn_bars, nodes.size());
    std::ranges::stable_sort(nodes, std::greater(), &ExpertsRecord::Node::rows);
    nodes.resize(most_drawn_bars);
  }
  std::vector<std::string> names;
  std::vector<double> counts;
  for (const ExpertsRecord::Node& each : nodes) {
    names.push_back(fmt::format("{}", each.number));
    counts.push_back(each.rows);
  }
  GnuplotPicture picture{"set title " + with_run("Rows that each expert answered for", run) + "\n" +
                             second_line("since the sleep before, " + when_text(moment) + left_out) +
                             "set xlabel 'Expert'\nset ylabel 'Rows'\n",
                         {}};
  picture.commands += bars_of(names, counts, picture.files);
  return picture;
}

}  // namespace

GnuplotPicture expert_metrics_picture(const ExpertsRecord& experts, const LossCurve* curve,
                                      const std::string& run) {
  GnuplotPicture picture;
  std::vector<std::string> panels{loss_panel(curve, picture.files), living_panel(experts, picture.files),
                                  hesitation_panel(experts, picture.files)};
  std::erase(panels, "");
  picture.commands = fmt::format(
      "set multiplot title {} font ',20' noenhanced\nset xrange [0:{:.9g}]\nset tics font ',12'\n"
      "unset ylabel\nset key at graph 0.99, graph 0.97 right top "
      "horizontal font ',12' opaque fillcolor rgb '#ffffff'\n",
      with_run("Training of the experts", run),
      std::max(1.0, static_cast<double>(experts.steps) / static_cast<double>(experts.steps_per_epoch)));
  const double height = 0.83 / static_cast<double>(panels.size());
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double top = 0.93 - height * static_cast<double>(i);
    picture.commands += panel_place(top, top - height + 0.035, i + 1 == panels.size()) + panels[i];
  }
  picture.commands += "unset multiplot\n";
  return picture;
}

std::optional<GnuplotPicture> expert_activations_picture(const ExpertsRecord& experts,
                                                         const std::string& run) {
  if (experts.moments.empty() || experts.moments.back().nodes.empty()) return std::nullopt;
  const ExpertsRecord::Moment& moment = experts.moments.back();
  const std::size_t classes = experts.classes.size();
  if (classes < 2 || moment.nodes.size() < 2 || moment.nodes.size() > most_drawn_experts)
    return rows_of_experts(moment, run);
  std::string shades;
  std::string dark;   // numbers on light cells
  std::string light;  // numbers on dark cells
  std::vector<std::string> names;
  for (std::size_t row = 0; row < moment.nodes.size(); ++row) {
    names.push_back(fmt::format("{}", moment.nodes[row].number));
    for (std::size_t c = 0; c < classes; ++c) {
      const double share = moment.nodes[row].classes.empty() ? 0 : moment.nodes[row].classes[c];
      fmt::format_to(std::back_inserter(shades), "{} {} {:.4g}\n", c, row, share);
      fmt::format_to(std::back_inserter(share > 0.6 ? light : dark), "{} {} {:.2f}\n", c, row, share);
    }
  }
  std::string commands = "set title " + with_run("Who answers for which class", run) + "\n" +
                         second_line(when_text(moment) + missing_text(moment, classes)) +
                         named_x_tics(experts.classes, width_of_shares) +
                         named_y_tics(names, height_of_shares);
  commands += fmt::format(
      "set xlabel 'Class'\nset ylabel 'Expert'\nset xrange [-0.5:{}]\nset yrange [{}:-0.5]\nunset "
      "grid\nunset "
      "key\nset border 0\nset cbrange [0:1]\nset lmargin at screen 0.13\nset rmargin at screen 0.83\nset "
      "bmargin -1\n"
      "set palette defined (0 '#f5f7fb', 0.5 '#7da6f2', 1 '#1e40af')\n"
      "set cblabel 'Share of the answers for the class' offset 1.5 textcolor rgb '#465064'\nset cbtics 0.25\n"
      "plot 'shades.txt' using 1:2:3 with image",
      static_cast<double>(classes) - 0.5, static_cast<double>(names.size()) - 0.5);
  std::vector<std::pair<std::string, std::string>> files{{"shades.txt", std::move(shades)}};
  const double font = font_that_fits(4, width_of_shares / static_cast<double>(classes),
                                     height_of_shares / static_cast<double>(names.size()), {14, 11, 9});
  for (auto& [name, numbers, colour] :
       {std::tuple("dark.txt", &dark, "#1b2333"), std::tuple("light.txt", &light, "#ffffff")}) {
    if (font == 0 || numbers->empty()) continue;
    commands +=
        fmt::format(", '{}' using 1:2:3 with labels font ',{}' textcolor rgb '{}'", name, font, colour);
    files.emplace_back(name, std::move(*numbers));
  }
  return GnuplotPicture{commands + "\n", std::move(files)};
}

GnuplotPicture expert_devices_picture(const ExpertsRecord& experts, const std::string& run) {
  GnuplotPicture picture{
      "set title " + with_run("Experts by device", run) + "\n" +
          second_line(fmt::format("at the end of the training; room for {} experts", experts.room)) +
          "set xlabel 'Device'\nset ylabel 'Experts'\n",
      {}};
  picture.commands +=
      bars_of({experts.device}, {static_cast<double>(experts.last.nodes.size())}, picture.files);
  return picture;
}

}  // namespace stoker
