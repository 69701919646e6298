#include "report/page/page_data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "config/json_text.h"
#include "predict/measure/metrics.h"
#include "report/experts/expert_drawing.h"
#include "report/plot/histogram.h"
#include "report/plot/plotted_lines.h"
#include "report/run/sections.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t most_epochs = 4'000;

// Six digits are more than a plot shows and a third of what all digits would take.
json rounded(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values)
    list.push_back(std::isfinite(value) ? json(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr))
                                        : json());
  return list;
}

json curve_data(const LossCurve& whole) {
  const LossCurve curve = thinned(whole, most_epochs);
  json data{{"epochs", curve.epochs},
            {"training", rounded(curve.training)},
            {"validation", curve.has_validation() ? rounded(curve.validation) : json()},
            {"learning_rate", rounded(curve.learning_rate)},
            {"best", curve.best_epoch},
            {"courses", json::array()}};
  for (const Course& each : courses_of(whole))
    data["courses"].push_back({{"name", each.name},
                               {"axis", each.axis},
                               {"begins_at_zero", each.begins_at_zero},
                               {"values", rounded(curve.*each.values)}});
  return data;
}

json over_time_data(const PredictedOverTime& chart, const std::string& target) {
  return {{"target", target},   {"axis", axis_over_time(chart)},   {"has_dates", chart.has_dates},
          {"time", chart.time}, {"actual", rounded(chart.actual)}, {"predicted", rounded(chart.predicted)}};
}

// Sorted by the actual value: the plot wants its x that way.
json scatter_data(const Evaluation& evaluation) {
  std::vector<DrawnRow> rows = drawable_rows(evaluation);
  std::sort(rows.begin(), rows.end(),
            [](const DrawnRow& a, const DrawnRow& b) { return a.actual < b.actual; });
  std::vector<double> actual;
  std::vector<double> predicted;
  for (const auto& [x, y] : rows) {
    actual.push_back(x);
    predicted.push_back(y);
  }
  return {{"target", evaluation.target}, {"actual", rounded(actual)}, {"predicted", rounded(predicted)}};
}

json histogram_data(const Evaluation& evaluation) {
  std::vector<double> residuals;
  for (const auto& [actual, predicted] : drawable_rows(evaluation)) residuals.push_back(actual - predicted);
  const Histogram histogram = histogram_of(std::move(residuals));
  return {{"target", evaluation.target},
          {"first_edge", histogram.first_edge},
          {"width", histogram.width},
          {"counts", histogram.counts}};
}

// One metric at each step, and what it is there without a model.
json steps_data(const Evaluation& evaluation, std::string_view metric) {
  using Steps = std::vector<std::vector<std::pair<std::string, double>>>;
  const auto values_in = [&](const Steps& steps) {
    std::vector<double> values;
    for (const auto& step : steps)
      for (const auto& [name, value] : step)
        if (name == metric) values.push_back(value);
    return values;
  };
  json data{{"target", evaluation.target},
            {"metric", title_of(metric)},
            {"values", rounded(values_in(evaluation.by_step))},
            {"plain", json()},
            {"predicts", ""}};
  const Baseline* baseline = evaluation.baseline();
  if (baseline == nullptr || baseline->by_step.size() != evaluation.by_step.size()) return data;
  data["plain"] = rounded(values_in(baseline->by_step));
  data["predicts"] = baseline->predicts;
  return data;
}

const char* name_of_rows(PlottedLines::Of of) {
  switch (of) {
    case PlottedLines::Of::training:
      return "training";
    case PlottedLines::Of::validation:
      return "validation";
    case PlottedLines::Of::neither:
      break;
  }
  return "";
}

json lines_data(const PlottedLines& lines) {
  json drawn = json::array();
  for (const PlottedLines::Line& each : lines.lines)
    drawn.push_back({{"label", each.label},
                     {"of", name_of_rows(each.of)},
                     {"values", rounded(each.values)},
                     {"deviation", each.deviation.empty() ? json() : rounded(each.deviation)}});
  return {{"x", rounded(lines.x)},     {"x_label", lines.x_label},      {"y_label", lines.y_label},
          {"lines", std::move(drawn)}, {"marks", rounded(lines.marks)}, {"is_share", lines.is_share}};
}

json tenths(double value) {
  return std::round(value * 10) / 10;
}

// The graph of each moment, ready to be drawn.
json experts_data(const ExpertsRecord& record) {
  const ExpertPlaces places(record);
  json moments = json::array();
  for (const ExpertsRecord::Moment* each_moment : record.moments_over_time()) {
    const ExpertsRecord::Moment& moment = *each_moment;
    const DrawnExperts drawn = places.drawn(moment);
    json experts = json::array();
    for (const DrawnExpert& each : drawn.experts)
      experts.push_back({{"number", each.number},
                         {"x", tenths(each.x)},
                         {"y", tenths(each.y)},
                         {"radius", tenths(each.radius)},
                         {"rows", each.rows},
                         {"specialisation", each.specialisation},
                         {"label", each.label},
                         {"label_x", tenths(each.label_x)},
                         {"label_y", tenths(each.label_y)},
                         {"side", each.side}});
    json ties = json::array();
    for (const DrawnTie& each : drawn.ties)
      ties.push_back({{"x1", tenths(each.x1)},
                      {"y1", tenths(each.y1)},
                      {"x2", tenths(each.x2)},
                      {"y2", tenths(each.y2)},
                      {"tie", config::name_of(each.tie)},
                      {"weight", each.weight}});
    moments.push_back({{"epoch", moment.epoch},
                       {"step", moment.step},
                       {"hesitation", std::isfinite(moment.hesitation) ? json(moment.hesitation) : json()},
                       {"experts", std::move(experts)},
                       {"ties", std::move(ties)}});
  }
  return moments;
}

}  // namespace

// Nothing in it may end the script element or begin a comment; U+2028 and U+2029 end a line in older scripts.
std::string for_script(const std::string& text) {
  std::string safe;
  safe.reserve(text.size());
  const auto is_unsafe = [](char c) {
    return c == '<' || c == '>' || c == '&' || c == '\xe2';  // with which the two separators begin
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Most of a page with cubes is one long word after the other.
    const auto end = static_cast<std::size_t>(
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), is_unsafe) - text.begin());
    safe.append(text, i, end - i);
    i = end;
    if (i == text.size()) break;
    const std::string_view rest = std::string_view(text).substr(i, 3);
    if (rest == "\u2028" || rest == "\u2029") {
      safe += rest == "\u2028" ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (text[i] == '<' || text[i] == '>' || text[i] == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<int>(text[i]));
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string page_data(const RunContents& contents) {
  json data{{"curves", json::array()}, {"scatters", json::array()}, {"histograms", json::array()},
            {"steps", json::array()},  {"experts", json::array()},  {"cubes", json::array()},
            {"lines", json::array()},  {"over_time", json::array()}};
  for (const CubeView* each : views_of_page(contents)) data["cubes"].push_back(to_json(*each));
  for (const PlottedLines& lines : lines_of_page(contents)) data["lines"].push_back(lines_data(lines));
  for (const CardExperts& each : contents.experts)
    if (!each.experts.moments_over_time().empty()) data["experts"].push_back(experts_data(each.experts));
  for (const LossCurve& curve : contents.curves) data["curves"].push_back(curve_data(curve));
  for (const CardEvaluation& each : contents.evaluations)
    if (const Metric* metric = metric_of_steps(each.evaluation))
      data["steps"].push_back(steps_data(each.evaluation, metric->name));
  for (const CardEvaluation& each : contents.evaluations)
    if (const auto chart = drawable_over_time(each.evaluation))
      data["over_time"].push_back(over_time_data(*chart, each.evaluation.target));
  for (const CardEvaluation& each : contents.evaluations) {
    if (drawable_rows(each.evaluation).empty()) continue;
    data["scatters"].push_back(scatter_data(each.evaluation));
    data["histograms"].push_back(histogram_data(each.evaluation));
  }
  return for_script(config::json_text(data));
}

}  // namespace stoker
