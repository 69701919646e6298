#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <iterator>

#include <fmt/format.h>

#include "report/plot/pictures.h"

namespace stoker {
namespace {

constexpr double seconds_of_hour = 3'600;
constexpr double seconds_of_day = 86'400;
constexpr int ticks_of_dates = 6;
constexpr double large_time = 1e5;               // that gnuplot may write as a power of ten
constexpr double latest_date = 253'402'300'799;  // the last second of the year 9999

// What tells two ticks apart.
const char* form_of_dates(double span) {
  if (span > ticks_of_dates * seconds_of_day) return "%Y-%m-%d";
  if (span > ticks_of_dates * seconds_of_hour) return "%m-%d %H:%M";
  return "%H:%M:%S";
}

std::string date_at(double seconds, const char* form) {
  const auto time = static_cast<std::time_t>(std::clamp(seconds, -latest_date, latest_date));
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
}

// Evenly spaced: those that gnuplot chooses for dates and for large numbers can overlap.
std::string time_tics(double first, double last, bool are_dates) {
  std::string tics;
  for (int i = 0; i <= ticks_of_dates; ++i) {
    const double at = first + (last - first) * i / ticks_of_dates;
    tics +=
        fmt::format("{}'{}' {:.15g}", i == 0 ? "" : ", ",
                    are_dates ? date_at(at, form_of_dates(last - first)) : fmt::format("{:.10g}", at), at);
    if (last <= first) break;
  }
  return fmt::format("set xtics ({}) font ',13'\n", tics);
}

std::string words_of_series_group(const PredictedOverTime& chart) {
  return chart.group.empty() ? "" : fmt::format(" of {}", chart.group);
}

}  // namespace

GnuplotPicture over_time_picture(const PredictedOverTime& chart, const std::string& target,
                                 const std::string& run) {
  std::string data;
  for (std::size_t i = 0; i < chart.time.size(); ++i)
    fmt::format_to(std::back_inserter(data), "{:.15g} {:.9g} {:.9g}\n", chart.time[i], chart.actual[i],
                   chart.predicted[i]);
  const double first = chart.time.front(), last = chart.time.back();
  const std::string title = fmt::format("Predicted and actual over time{}", words_of_series_group(chart));
  std::string commands = fmt::format(
      "set title {}\nset xlabel {}\nset ylabel {}\nset key outside below center horizontal\nset bmargin "
      "6.5\n",
      gnuplot_text(run.empty() ? title : fmt::format("{}: {}", title, run)),
      gnuplot_text(axis_over_time(chart), longest_axis_label), gnuplot_text(target, longest_axis_label));
  commands += "set rmargin 8\n";  // for half of the last tick's text
  if (chart.has_dates || std::max(std::abs(first), std::abs(last)) >= large_time)
    commands += time_tics(first, last, chart.has_dates);
  if (last > first) commands += fmt::format("set xrange [{:.15g}:{:.15g}]\n", first, last);
  commands +=
      "plot 'rows.txt' using 1:2 with lines linewidth 2 linecolor rgb '#1b2333' title 'actual', "
      "'' using 1:3 with lines linewidth 2 linecolor rgb '#a855f7' title 'predicted'\n";
  return {commands, {{"rows.txt", std::move(data)}}};
}

}  // namespace stoker
