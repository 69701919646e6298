#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/human_number.h"
#include "base/text/text.h"
#include "predict/measure/metrics.h"
#include "report/run/sections.h"

// How good a forecast of several steps is at each of them.
namespace stoker {
namespace {

constexpr std::size_t most_step_rows = 200;

std::string step_number(double value) {
  if (!std::isfinite(value)) return "–";
  return std::abs(value) < 1000 ? fmt::format("{:.5g}", value) : human_number(value);
}

std::string steps_table(const Evaluation& evaluation) {
  std::string head;
  for (const auto& [name, value] : evaluation.by_step.front())
    head += fmt::format("<th class=\"number\">{}</th>", html_escaped(std::string(title_of(name))));
  std::string rows;
  for (std::size_t step = 0; step < std::min(evaluation.by_step.size(), most_step_rows); ++step) {
    rows += fmt::format("<tr><td class=\"number\">{}</td>", step + 1);
    for (const auto& [name, value] : evaluation.by_step[step])
      rows += fmt::format("<td class=\"number\">{}</td>", step_number(value));
    rows += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr><th class=\"number\">Steps "
      "ahead</th>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      head, rows);
}

}  // namespace

const Metric* metric_of_steps(const Evaluation& evaluation) {
  if (evaluation.by_step.size() < 2) return nullptr;
  for (const auto& [name, value] : evaluation.by_step.front()) {
    const Metric* metric = find_metric(name);
    if (metric != nullptr && !metric->higher_is_better) return metric;
  }
  return nullptr;
}

std::string steps_section(const RunContents& contents) {
  std::string parts;
  std::size_t index = 0;
  for (const CardEvaluation& each : contents.evaluations) {
    const Metric* metric = metric_of_steps(each.evaluation);
    if (metric == nullptr) continue;
    if (contents.evaluations.size() > 1) parts += fmt::format("<h3>{}</h3>\n", html_escaped(each.card));
    parts += figure("steps", index++, fmt::format("{} by steps ahead", metric->title), "");
    parts += steps_table(each.evaluation);
  }
  return parts.empty() ? "" : fmt::format("<section>\n<h2>Steps ahead</h2>\n{}</section>\n", parts);
}

}  // namespace stoker
