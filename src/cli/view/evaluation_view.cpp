#include "cli/view/evaluation_view.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "config/field.h"
#include "predict/measure/metrics.h"
#include "predict/spectral/cube_scores.h"

namespace stoker::cli {
namespace {

constexpr std::size_t most_class_lines = 20;
constexpr std::size_t most_column_lines = 10;
constexpr std::size_t most_step_lines = 24;

using Cells = std::vector<std::vector<std::string>>;
using NamedValues = std::vector<std::pair<std::string, double>>;

std::string four_digits(double value) {
  return std::abs(value) < 1000 ? fmt::format("{:.4g}", value) : number(value);
}

std::string value_named(const NamedValues& values, const std::string& name) {
  for (const auto& [each, value] : values)
    if (each == name) return number(value);
  return "–";
}

// One line per metric; what is not known of any of them has no column.
Cells metric_lines(const Evaluation& evaluation, const RunRecord::Training* training) {
  const bool on_training = training != nullptr && !training->metrics.empty();
  Cells lines{{"", "test"}};
  if (!evaluation.intervals.empty()) lines[0].push_back("95 % interval");
  if (on_training) lines[0].push_back("training");
  for (const Baseline& each : evaluation.baselines) lines[0].push_back(each.predicts);
  if (lines[0].size() == 2) lines.clear();
  for (const auto& [name, value] : evaluation.metrics) {
    std::vector<std::string> line{name, number(value)};
    if (!evaluation.intervals.empty()) {
      const MetricInterval* interval = evaluation.interval(name);
      line.push_back(interval == nullptr
                         ? "–"
                         : fmt::format("{} to {}", four_digits(interval->low), four_digits(interval->high)));
    }
    if (on_training) line.push_back(value_named(training->metrics, name));
    for (const Baseline& each : evaluation.baselines) line.push_back(value_named(each.metrics, name));
    lines.push_back(std::move(line));
  }
  return lines;
}

Cells class_lines(const ClassScores& scores) {
  Cells lines{{"class", "precision", "recall", "f1", "rows"}};
  for (std::size_t i = 0; i < std::min(scores.classes.size(), most_class_lines); ++i)
    lines.push_back({scores.classes[i], fmt::format("{:.3f}", scores.precision[i]),
                     fmt::format("{:.3f}", scores.recall[i]), fmt::format("{:.3f}", scores.f1[i]),
                     human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, scores.support[i])))});
  return lines;
}

// How far ahead, and how good it is there.
Cells step_lines(const Evaluation& evaluation) {
  Cells lines{{"ahead"}};
  for (const auto& [name, value] : evaluation.by_step.front()) lines[0].push_back(name);
  for (std::size_t step = 0; step < std::min(evaluation.by_step.size(), most_step_lines); ++step) {
    std::vector<std::string> line{std::to_string(step + 1)};
    for (const auto& [name, value] : evaluation.by_step[step]) line.push_back(number(value));
    lines.push_back(std::move(line));
  }
  return lines;
}

Cells column_lines(const ColumnImportance& importance) {
  Cells lines;
  for (std::size_t i = 0; i < std::min(importance.columns.size(), most_column_lines); ++i)
    lines.push_back(
        {importance.columns[i], four_digits(importance.loss[i]), "± " + four_digits(importance.spread[i])});
  return lines;
}

std::string importance_heading(const ColumnImportance& importance) {
  const Metric* metric = find_metric(importance.metric);
  const bool rises = metric != nullptr && !metric->higher_is_better;
  std::string text = fmt::format("  what it relies on: how much {} {} when a column is shuffled",
                                 importance.metric, rises ? "rises" : "falls");
  if (importance.columns.size() > most_column_lines)
    text +=
        fmt::format(" (the first {} of {})", most_column_lines, counted(importance.columns.size(), "column"));
  return text + "\n";
}

}  // namespace

Pieces evaluation_text(const std::string& card, const Evaluation& evaluation,
                       const RunRecord::Training* training) {
  Pieces text{{printable(fmt::format("{}: {} on {}", card, evaluation.target, evaluation.counted_rows())),
               Colour::bold},
              {"\n" + (evaluation.metrics.empty() ? "  nothing was measured\n"
                                                  : aligned(metric_lines(evaluation, training), "  "))}};
  if (evaluation.verdict)
    text.push_back({"  " + text_of(*evaluation.verdict) + "\n",
                    evaluation.verdict->is_better ? std::nullopt : std::optional(Colour::yellow)});
  if (evaluation.untested)
    text.push_back({"  no verdict: " + text_of(*evaluation.untested) + "\n",
                    evaluation.untested->is_worse ? std::optional(Colour::yellow) : std::nullopt});
  for (const Caution& caution : evaluation.cautions)
    text.push_back({"  " + printable(caution.text) + "\n", Colour::yellow});
  if (!evaluation.by_step.empty()) text.push_back({"\n" + aligned(step_lines(evaluation), "  ")});
  const auto* scores = evaluation.chart<ClassScores>();
  if (scores != nullptr && scores->classes.size() <= most_class_lines)
    text.push_back({"\n" + aligned(class_lines(*scores), "  ")});
  if (const auto* importance = evaluation.chart<ColumnImportance>())
    text.push_back({"\n" + importance_heading(*importance) + aligned(column_lines(*importance), "  ")});
  text.push_back({"\n"});
  return text;
}

Pieces training_text(const RunRecord::Training& training) {
  if (training.metrics.empty()) return {};
  Cells lines;
  for (const auto& [name, value] : training.metrics) lines.push_back({name, number(value)});
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(0, training.measured_rows));
  return {{printable(fmt::format("{}: {} on {} that it was trained on; nothing was kept to test with",
                                 training.card, training.target,
                                 counted(count, reads_cubes(training.model_type) ? "cube" : "row"))),
           Colour::bold},
          {"\n" + aligned(lines, "  ") + "\n"}};
}

nlohmann::json evaluation_json(const Evaluation& evaluation, const RunRecord::Training* training) {
  nlohmann::json whole = evaluation.to_json();
  nlohmann::json json = {{"task", whole.at("task")},
                         {"target", whole.at("target")},
                         {"rows", whole.at("rows")},
                         {"metrics", whole.at("metrics")}};
  for (const char* more :
       {"intervals", "baseline", "baselines", "verdict", "untested", "cautions", "by_step"})
    if (whole.contains(more)) json[more] = whole.at(more);
  if (const auto* matrix = evaluation.chart<ConfusionMatrix>()) {
    json["classes"] = matrix->classes;
    json["confusion"] = confusion_rows(*matrix);
    if (matrix->classes_left_out > 0) json["classes_left_out"] = matrix->classes_left_out;
  }
  if (const auto* scores = evaluation.chart<ClassScores>()) json["class_scores"] = to_json(Chart(*scores));
  if (const auto* calibration = evaluation.chart<Calibration>())
    json["calibration"] = to_json(Chart(*calibration));
  if (const auto* importance = evaluation.chart<ColumnImportance>())
    json["importance"] = to_json(Chart(*importance));
  if (training != nullptr && !training->metrics.empty()) {
    for (const auto& [name, value] : training->metrics) json["training_metrics"][name] = value;
    json["training_rows"] = training->measured_rows;
  }
  return json;
}

const RunRecord::Training* training_behind(const RunRecord& record, const std::string& card) {
  for (const RunRecord::Result& result : record.results) {
    if (result.card != card || result.training.empty()) continue;
    for (const RunRecord::Training& training : record.trainings)
      if (training.card == result.training) return &training;
  }
  return nullptr;
}

}  // namespace stoker::cli
