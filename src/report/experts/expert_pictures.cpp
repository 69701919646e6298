#include "report/experts/expert_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "base/text/text.h"
#include "report/plot/axis_ticks.h"

namespace stoker {
namespace {

constexpr std::size_t most_drawn_experts = 256;
constexpr std::size_t most_drawn_bars = 60;
constexpr double width_of_shares = 820;
constexpr double height_of_shares = 560;

std::string with_run(std::string_view what, const std::string& run) {
  return gnuplot_text(run.empty() ? std::string(what) : fmt::format("{}: {}", what, run));
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
