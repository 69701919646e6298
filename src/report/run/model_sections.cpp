#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/human_number.h"
#include "base/text/text.h"
#include "predict/measure/metrics.h"
#include "report/run/sections.h"

// What people ask of a model: how good it is in each class, what it relies on, what it has learnt.
namespace stoker {
namespace {

constexpr std::size_t most_class_rows = 50;
constexpr std::size_t most_importance_rows = 30;
constexpr std::size_t most_coefficient_rows = 200;
constexpr double bar_width = 260;

std::string four_decimals(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : "–";
}

std::string heading_of(const std::string& card, bool several) {
  return several ? fmt::format("<h3>{}</h3>\n", html_escaped(card)) : std::string();
}

std::string scores_table(const ClassScores& scores) {
  std::string rows;
  for (std::size_t i = 0; i < std::min(scores.classes.size(), most_class_rows); ++i)
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>"
        "<td class=\"number\">{}</td></tr>\n",
        html_escaped(scores.classes[i]), four_decimals(scores.precision[i]), four_decimals(scores.recall[i]),
        four_decimals(scores.f1[i]),
        human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, scores.support[i]))));
  return fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr><th>Class</th><th class=\"number\">Precision</th><th "
      "class=\"number\">Recall</th><th class=\"number\">F1</th><th class=\"number\">Rows</th></tr></thead>\n"
      "<tbody>\n{}</tbody></table></div>\n",
      rows);
}

// The end of a bar, and from where to where a whisker reaches that is one spread long to each side.
std::string importance_bar(double loss, double spread, double longest) {
  const auto at = [&](double value) {
    return longest > 0 ? bar_width * std::clamp(value / longest, 0.0, 1.0) : 0.0;
  };
  return fmt::format(
      "<svg width=\"{0}\" height=\"12\" aria-hidden=\"true\"><rect width=\"{1:.1f}\" height=\"8\" y=\"2\" "
      "rx=\"2\"/><line x1=\"{2:.1f}\" x2=\"{3:.1f}\" y1=\"6\" y2=\"6\"/></svg>",
      bar_width, at(loss), at(loss - spread), at(loss + spread));
}

std::string importance_table(const ColumnImportance& importance) {
  double longest = 0;
  for (std::size_t i = 0; i < importance.loss.size(); ++i)
    if (std::isfinite(importance.loss[i] + importance.spread[i]))
      longest = std::max(longest, importance.loss[i] + importance.spread[i]);
  std::string rows;
  const std::size_t shown = std::min(importance.columns.size(), most_importance_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_number = std::isfinite(importance.loss[i]) && std::isfinite(importance.spread[i]);
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"bar\">{}</td><td class=\"number\">{}</td></tr>\n",
        html_escaped(importance.columns[i]),
        is_number ? importance_bar(importance.loss[i], importance.spread[i], longest) : std::string(),
        is_number ? fmt::format("{:.4g} ± {:.2g}", importance.loss[i], importance.spread[i]) : "–");
  }
  const Metric* metric = find_metric(importance.metric);
  const bool rises = metric != nullptr && !metric->higher_is_better;
  std::string hint = fmt::format(
      "How much {} {} when the values of a column change places among {}: mean and standard deviation of {}. "
      "Of two columns that say the same, either may seem to matter little.",
      html_escaped(std::string(title_of(importance.metric))), rises ? "rises" : "falls",
      counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, importance.rows)), "row"),
      counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, importance.repeats)), "shuffle"));
  if (shown < importance.columns.size())
    hint += fmt::format(" The first {} of {}.", shown, counted(importance.columns.size(), "column"));
  return fmt::format(
      "<div class=\"scroll\"><table class=\"cards importance\">\n<tbody>\n{}</tbody></table></div>\n<p "
      "class=\"hint\">{}</p>\n",
      rows, hint);
}

std::string coefficient_cell(double value) {
  return fmt::format("<td class=\"number\">{}</td>", std::isfinite(value) ? human_number(value) : "–");
}

std::string coefficient_table(const RunRecord::Training& training) {
  const bool by_class = !training.coefficients.front().of_class.empty();
  const bool by_members = training.coefficients.front().deviation.has_value();
  std::string rows;
  const std::size_t shown = std::min(training.coefficients.size(), most_coefficient_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const RunRecord::Coefficient& each = training.coefficients[i];
    rows += "<tr>";
    if (by_class) rows += fmt::format("<td>{}</td>", html_escaped(each.of_class));
    rows += fmt::format("<td>{}</td>{}", html_escaped(each.feature), coefficient_cell(each.value));
    if (by_members) rows += coefficient_cell(each.deviation.value_or(std::nan("")));
    rows += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr>{}<th>Feature</th><th "
      "class=\"number\">Coefficient</th>{}</tr>"
      "</thead>\n<tbody>\n{}</tbody></table></div>\n{}",
      by_class ? "<th>Class</th>" : "",
      by_members ? "<th class=\"number\">Deviation between members</th>" : "", rows,
      shown < training.coefficients.size()
          ? fmt::format("<p class=\"hint\">The first {}; coefficients.csv has all of them.</p>\n", shown)
          : std::string());
}

std::string calibration_table(const Calibration& calibration) {
  std::string rows;
  for (std::size_t i = 0; i < calibration.predicted.size(); ++i)
    rows += fmt::format(
        "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
        four_decimals(calibration.predicted[i]), four_decimals(calibration.observed[i]),
        human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, calibration.rows[i]))));
  return fmt::format(
      "<p class=\"hint\">How often {} when it is given such a probability. The mean distance of the two, the "
      "expected calibration error, is {}.</p>\n<div class=\"scroll\"><table>\n<thead><tr><th "
      "class=\"number\">Probability</th><th class=\"number\">How often</th><th "
      "class=\"number\">Rows</th></tr>"
      "</thead>\n<tbody>\n{}</tbody></table></div>\n",
      calibration.of_class.empty() ? std::string("the predicted class is right")
                                   : "a row is of " + html_escaped(calibration.of_class),
      four_decimals(calibration.expected_error), rows);
}

// A table for every evaluation that has such a chart; `count` says of how many lines it would be.
template <class Chart, class Count>
std::string chart_section(const RunContents& contents, const char* title, Count count,
                          std::string (*table)(const Chart& chart)) {
  std::string tables;
  for (const CardEvaluation& each : contents.evaluations) {
    const auto* chart = each.evaluation.chart<Chart>();
    if (chart == nullptr || count(*chart) == 0) continue;
    tables += heading_of(each.card, contents.evaluations.size() > 1) + table(*chart);
  }
  return tables.empty() ? "" : fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", title, tables);
}

}  // namespace

std::string calibration_section(const RunContents& contents) {
  const auto lines = [](const Calibration& calibration) { return calibration.predicted.size(); };
  return chart_section<Calibration>(contents, "Calibration", lines, calibration_table);
}

std::string class_scores_section(const RunContents& contents) {
  const auto lines = [](const ClassScores& scores) { return scores.classes.size(); };
  return chart_section<ClassScores>(contents, "Class by class", lines, scores_table);
}

std::string importance_section(const RunContents& contents) {
  const auto lines = [](const ColumnImportance& importance) { return importance.columns.size(); };
  return chart_section<ColumnImportance>(contents, "What the model relies on", lines, importance_table);
}

std::string coefficients_section(const RunRecord& record) {
  std::string tables;
  for (const RunRecord::Training& training : record.trainings) {
    if (training.coefficients.empty()) continue;
    tables += heading_of(training.card, record.trainings.size() > 1) + coefficient_table(training);
  }
  if (tables.empty()) return "";
  return fmt::format(
      "<section>\n<h2>Coefficients</h2>\n<p class=\"hint\">What one more of each feature, in its own unit, "
      "adds to the prediction, or to the logit of a class.</p>\n{}</section>\n",
      tables);
}

}  // namespace stoker
