#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/human_number.h"
#include "base/text/text.h"
#include "predict/measure/metrics.h"
#include "predict/spectral/cube_scores.h"
#include "report/plot/plotted_lines.h"
#include "report/run/sections.h"

namespace stoker {
namespace {

constexpr std::size_t most_table_classes = 30;
constexpr std::size_t most_listed_mistakes = 30;
// From here on a number is written as a power of ten, which is shorter than all of its digits.
constexpr double shortest_power = 1e7;
constexpr std::size_t longest_large_text = 8;  // of a tile; longer ones are in a smaller font
constexpr int shades = 20;                     // .shade-0 to .shade-20 of report.css

bool is_of_cubes(const RunRecord::Training* training) {
  return training != nullptr && reads_cubes(training->model_type);
}

std::string metric_text(double value) {
  if (!std::isfinite(value)) return "–";
  if (std::abs(value) <= 1) return fmt::format("{:.4f}", value);
  if (std::abs(value) >= shortest_power) return fmt::format("{:.5g}", value);
  return std::abs(value) < 1000 ? fmt::format("{:.5g}", value) : human_number(value);
}

std::string tile(const std::string& label, const std::string& value, const std::string& below = "") {
  return fmt::format("<div class=\"tile\"><dt>{}</dt><dd{}>{}</dd>{}</div>\n", label,
                     value.size() > longest_large_text ? " class=\"long\"" : "", value,
                     below.empty() ? "" : "<dd class=\"below\">" + below + "</dd>");
}

using NamedValues = std::vector<std::pair<std::string, double>>;

std::string line_named(const NamedValues& values, const std::string& name, const std::string& whose) {
  for (const auto& [each, value] : values)
    if (each == name) return fmt::format("{} {}", whose, metric_text(value));
  return "";
}

const Evaluation* evaluation_of(const RunContents& contents, const std::string& card) {
  for (const CardEvaluation& each : contents.evaluations)
    if (each.card == card) return &each.evaluation;
  return nullptr;
}

const RunRecord::Training* training_of(const RunRecord& record, const std::string& card) {
  for (const RunRecord::Training& each : record.trainings)
    if (each.card == card) return &each;
  return nullptr;
}

// How sure a metric is, and what it is to be compared with.
std::string below_metric(const std::string& name, const Evaluation* evaluation,
                         const RunRecord::Training* training) {
  std::vector<std::string> lines;
  if (evaluation != nullptr) {
    if (const MetricInterval* interval = evaluation->interval(name))
      lines.push_back(fmt::format("{} to {}", metric_text(interval->low), metric_text(interval->high)));
  }
  if (training != nullptr)
    lines.push_back(
        line_named(training->metrics, name, is_of_cubes(training) ? "training cubes" : "training rows"));
  if (evaluation != nullptr)
    for (const Baseline& each : evaluation->baselines)
      lines.push_back(line_named(each.metrics, name, html_escaped(each.predicts)));
  std::erase(lines, "");
  return join(lines, "<br>");
}

// What the small lines below the metrics are.
std::string metrics_hint(const Evaluation* evaluation, const RunRecord::Training* training) {
  std::string text;
  if (evaluation != nullptr && !evaluation->intervals.empty())
    text += "Below each metric: where it would lie on other such rows, 95 times of 100";
  if (training != nullptr && !training->metrics.empty()) {
    text += text.empty() ? "Below each metric: " : "; ";
    const char* rows = is_of_cubes(training) ? "cubes" : "rows";
    text += training->measured_rows < training->rows
                ? fmt::format("its value on {} of the {} {} trained on",
                              human_count(static_cast<std::uint64_t>(training->measured_rows)),
                              human_count(static_cast<std::uint64_t>(training->rows)), rows)
                : fmt::format("its value on the {} trained on", rows);
  }
  if (evaluation != nullptr && !evaluation->baselines.empty() && !text.empty()) {
    std::vector<std::string> named;
    for (const Baseline& each : evaluation->baselines) named.push_back(html_escaped(each.predicts));
    text += fmt::format("; and that of always predicting {}", join(named, ", or "));
  }
  return text.empty() ? "" : fmt::format("<p class=\"hint\">{}.</p>\n", text);
}

std::string verdict_text(const Evaluation* evaluation) {
  if (evaluation == nullptr) return "";
  std::string text;
  if (evaluation->verdict)
    text += fmt::format("<p><strong>The model is {}.</strong></p>\n",
                        html_escaped(text_of(*evaluation->verdict)));
  if (evaluation->untested)
    text += fmt::format("<p><strong>No verdict: {}.</strong></p>\n",
                        html_escaped(text_of(*evaluation->untested)));
  for (const Caution& caution : evaluation->cautions)
    text += fmt::format("<p><strong>Caution: {}.</strong></p>\n", html_escaped(caution.text));
  return text;
}

// A switch for the axis only where it can work: logarithms of losses that are not positive do not exist.
bool can_be_logarithmic(const LossCurve& curve) {
  const auto fine = [](double loss) { return std::isnan(loss) || loss > 0; };
  return std::all_of(curve.training.begin(), curve.training.end(), fine) &&
         std::all_of(curve.validation.begin(), curve.validation.end(), fine);
}

// "", or " · <card>" where there are several to tell apart.
std::string behind(const std::string& card, bool several) {
  return several ? " · " + html_escaped(card) : "";
}

std::string confusion_table(const ConfusionMatrix& matrix) {
  const std::size_t classes = matrix.classes.size();
  std::string head;
  std::string rows;
  for (std::size_t actual = 0; actual < classes; ++actual) {
    const std::string name = html_escaped(matrix.classes[actual]);
    head += fmt::format("<th scope=\"col\" title=\"{0}\">{0}</th>", name);
    rows += fmt::format("<tr><th scope=\"row\" title=\"{0}\">{0}</th>", name);
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += static_cast<double>(matrix.counts[actual * classes + i]);
    for (std::size_t predicted = 0; predicted < classes; ++predicted) {
      const std::int64_t count = matrix.counts[actual * classes + predicted];
      const double share = sum > 0 ? static_cast<double>(count) / sum : 0;
      rows += fmt::format("<td class=\"shade-{}{}\" title=\"{:.1f} %\">{}</td>", std::lround(share * shades),
                          share > 0.5 ? " dark" : "", share * 100,
                          human_count(static_cast<std::uint64_t>(count)));
    }
    rows += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\"><table class=\"confusion\">\n<thead><tr><th>actual \\ "
      "predicted</th>{}</tr></thead>\n"
      "<tbody>\n{}</tbody></table></div>\n<p class=\"hint\">Shaded by the share of the actual class.</p>\n",
      head, rows);
}

struct Mistake {
  std::int64_t count;
  std::size_t actual;
  std::size_t predicted;
};

// Where the matrix is too large to be read: the cells off the diagonal that hold the most rows.
std::string mistakes_table(const ConfusionMatrix& matrix) {
  const std::size_t classes = matrix.classes.size();
  const auto left_out = static_cast<std::size_t>(matrix.classes_left_out);
  std::vector<Mistake> mistakes;
  for (std::size_t cell = 0; cell < matrix.counts.size(); ++cell) {
    const Mistake mistake{matrix.counts[cell], cell / classes, cell % classes};
    if (mistake.count > 0 && mistake.actual != mistake.predicted) mistakes.push_back(mistake);
  }
  const auto listed = std::min(most_listed_mistakes, mistakes.size());
  std::partial_sort(mistakes.begin(), mistakes.begin() + static_cast<std::ptrdiff_t>(listed), mistakes.end(),
                    [](const Mistake& a, const Mistake& b) { return a.count > b.count; });
  std::string rows;
  for (std::size_t i = 0; i < listed; ++i)
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td></tr>\n",
                        html_escaped(matrix.classes[mistakes[i].actual]),
                        html_escaped(matrix.classes[mistakes[i].predicted]),
                        human_count(static_cast<std::uint64_t>(mistakes[i].count)));
  return fmt::format(
      "<p>{} classes; the most frequent mistakes{} are:</p>\n<div "
      "class=\"scroll\"><table>\n<thead><tr><th>Actual</th>"
      "<th>Predicted</th><th class=\"number\">Rows</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      human_count(classes + left_out),
      left_out > 0 ? fmt::format(" among the {} with the most rows", classes) : std::string(), rows);
}

}  // namespace

std::string figure(std::string_view kind, std::size_t index, std::string_view caption,
                   std::string_view switches) {
  return fmt::format(
      "<figure data-kind=\"{}\" data-index=\"{}\">\n<figcaption><span>{}</span>{}</figcaption>\n"
      "<div class=\"plot\" role=\"img\" aria-label=\"{}\"></div>\n</figure>\n",
      kind, index, caption, switches, caption);
}

std::string metrics_section(const RunContents& contents) {
  std::string groups;
  const std::vector<RunRecord::Result>& results = contents.record.results;
  for (const RunRecord::Result& result : results) {
    if (results.size() > 1) groups += fmt::format("<h3>{}</h3>\n", html_escaped(result.card));
    groups += "<dl class=\"tiles\">\n";
    const Evaluation* evaluation = evaluation_of(contents, result.card);
    const RunRecord::Training* training = training_of(contents.record, result.training);
    for (const auto& [name, value] : result.metrics)
      groups += tile(html_escaped(std::string(title_of(name))), metric_text(value),
                     below_metric(name, evaluation, training));
    groups += tile(is_of_cubes(training) ? "Cubes evaluated" : "Rows evaluated",
                   human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, result.rows))));
    groups += "</dl>\n" + verdict_text(evaluation) + metrics_hint(evaluation, training);
  }
  return groups.empty() ? "" : fmt::format("<section>\n<h2>Results</h2>\n{}</section>\n", groups);
}

// Figures of all curves count on: the script finds curve and course by that number.
std::string course_figures(const RunContents& contents, std::size_t curve) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < curve; ++i) index += courses_of(contents.curves[i]).size();
  std::string figures;
  for (const Course& each : courses_of(contents.curves[curve]))
    figures +=
        figure("course", index++,
               std::string(each.title) + behind(contents.curves[curve].card, contents.curves.size() > 1), "");
  return figures.empty() ? "" : "<div class=\"plots\">\n" + figures + "</div>\n";
}

std::string value_figures(const RunContents& contents) {
  std::string figures;
  std::size_t index = 0;
  for (const EpochValues& each : contents.values)
    for (const PlottedLines& lines : lines_of(each))
      figures += figure("lines", index++,
                        html_escaped(lines.caption) + behind(each.card, contents.values.size() > 1), "");
  return figures.empty() ? "" : "<div class=\"plots\">\n" + figures + "</div>\n";
}

std::string loss_section(const RunContents& contents) {
  std::string figures;
  for (std::size_t i = 0; i < contents.curves.size(); ++i) {
    const LossCurve& curve = contents.curves[i];
    std::string log_switch;
    if (can_be_logarithmic(curve))
      log_switch = fmt::format("<label><input type=\"checkbox\" class=\"log\"{}> logarithmic</label>",
                               curve.wants_log_axis() ? " checked" : "");
    std::string caption = "Loss by epoch" + behind(curve.card, contents.curves.size() > 1);
    if (curve.best_epoch > 0 && curve.has_validation())
      caption += fmt::format(" · best epoch {} (dashed)", curve.best_epoch);
    figures += figure("loss", i, caption, log_switch);
    figures += course_figures(contents, i);
  }
  figures += value_figures(contents);
  if (figures.empty()) return "";
  return fmt::format(
      "<section>\n<h2>Training progress</h2>\n{}<p class=\"hint\">Drag to zoom, double-click to see "
      "everything again. "
      "A click in the legend hides or shows a line.</p>\n</section>\n",
      figures);
}

std::string predictions_section(const RunContents& contents) {
  const bool several = contents.evaluations.size() > 1;
  std::string figures;
  std::string series;
  std::size_t index = 0;
  std::size_t over_time = 0;
  for (const CardEvaluation& each : contents.evaluations) {
    if (const auto chart = drawable_over_time(each.evaluation))
      series += figure("over_time", over_time++,
                       html_escaped("Predicted and actual over time" +
                                    (chart->group.empty() ? "" : " of " + chart->group)) +
                           behind(each.card, several),
                       "");
    const std::size_t points = drawable_rows(each.evaluation).size();
    if (points == 0) continue;
    figures += figure("predicted", index, "Predicted against actual" + behind(each.card, several), "");
    figures += figure("residuals", index, "Residuals" + behind(each.card, several), "");
    ++index;
  }
  if (figures.empty()) return "";
  return fmt::format(
      "<section>\n<h2>Predictions</h2>\n{}<div class=\"plots\">\n{}</div>\n<p class=\"hint\">At most 5,000 "
      "rows of each evaluation are drawn, evenly spaced{}.</p>\n</section>\n",
      series, figures,
      series.empty() ? "" : "; over time, the latest 2,000 of the group that has the most, one step ahead");
}

std::string confusion_section(const RunContents& contents) {
  std::string tables;
  for (const CardEvaluation& each : contents.evaluations) {
    const auto* matrix = each.evaluation.chart<ConfusionMatrix>();
    if (matrix == nullptr || matrix->classes.empty()) continue;
    if (contents.evaluations.size() > 1) tables += fmt::format("<h3>{}</h3>\n", html_escaped(each.card));
    const bool small = matrix->classes.size() <= most_table_classes;
    tables += small ? confusion_table(*matrix) : mistakes_table(*matrix);
  }
  return tables.empty() ? "" : fmt::format("<section>\n<h2>Confusion matrix</h2>\n{}</section>\n", tables);
}

}  // namespace stoker
