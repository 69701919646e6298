#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text/human_number.h"
#include "base/text/text.h"
#include "predict/measure/metrics.h"
#include "predict/spectral/cube_scores.h"
#include "report/run/sections.h"
#include "train/fit/verdict.h"

namespace stoker {
namespace {

std::string count_text(std::int64_t count) {
  return human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, count)));
}

// "2026-11-15T10:20:30.123Z" as people write it; anything else as it stands.
std::string time_text(const std::string& started) {
  const bool expected = started.size() == 24 && started[10] == 'T' && started.back() == 'Z';
  return expected ? started.substr(0, 10) + " " + started.substr(11, 8) + " UTC" : started;
}

std::string fact(std::string_view name, const std::string& value) {
  if (value.empty()) return "";
  return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name, html_escaped(value));
}

std::string out_of_fold_table(const RunRecord::Result& result) {
  if (result.metrics.empty()) return "";
  std::string rows;
  for (const auto& [name, value] : result.metrics) rows += fact(title_of(name), fmt::format("{:.6g}", value));
  return fmt::format(
      "<h3>Out-of-fold ({} rows)</h3>\n<p class=\"hint\">Each row is predicted by the members that were not "
      "trained on it. Early stopping has seen these rows, so that rows which nobody has seen may fare a "
      "little "
      "worse.</p>\n<table><tbody>\n{}</tbody></table>\n",
      count_text(result.rows), rows);
}

// What they cost the training; the last one is written when that is over.
std::string checkpoints_text(const RunRecord::Training& training) {
  const CheckpointCost& cost = training.checkpoints;
  if (cost.taken == 0 || training.seconds <= 0) return "";
  return fmt::format("{} taken in {}, {:.2g} % of the training", count_text(cost.taken),
                     human_seconds(cost.seconds), 100 * cost.seconds / (training.seconds + cost.seconds));
}

std::string fold_row(const std::string& name, std::int64_t trained_on, std::int64_t rows,
                     const WalkForwardResult::Metrics& metrics) {
  std::string cells =
      fmt::format("<td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>", html_escaped(name),
                  trained_on > 0 ? count_text(trained_on) : "", count_text(rows));
  for (const auto& [metric, value] : metrics) cells += fmt::format("<td class=\"number\">{:.6g}</td>", value);
  return "<tr>" + cells + "</tr>\n";
}

std::string verdict_lines(const WalkForwardResult& result) {
  std::string lines;
  if (result.verdict)
    lines += fmt::format("<p class=\"hint\">Over all folds, the model is {}.</p>\n",
                         html_escaped(text_of(*result.verdict)));
  if (result.untested)
    lines += fmt::format("<p class=\"hint\">Over all folds, no verdict: {}.</p>\n",
                         html_escaped(text_of(*result.untested)));
  for (const Caution& caution : result.cautions)
    lines += fmt::format("<p class=\"hint\">Over all folds, {}.</p>\n", html_escaped(caution.text));
  return lines;
}

std::string walk_forward_table(const WalkForwardResult& result) {
  if (result.folds.empty()) return "";
  std::string head = "<th>Measured on</th><th class=\"number\">Trained on</th><th class=\"number\">Rows</th>";
  for (const auto& [metric, value] : result.folds.front().metrics)
    head += fmt::format("<th class=\"number\">{}</th>", html_escaped(title_of(metric)));
  std::string rows;
  for (std::size_t i = 0; i < result.folds.size(); ++i) {
    const WalkForwardResult::Fold& fold = result.folds[i];
    const std::string name = fold.from.empty() ? fmt::format("fold {}", fold.number_at(i))
                                               : fmt::format("{} – {}", fold.from, fold.until);
    rows += fold_row(name, fold.trained_on, fold.rows, fold.metrics);
  }
  if (!result.metrics.empty()) rows += fold_row("all together", 0, result.rows, result.metrics);
  for (const auto& [predicts, metrics] : result.baselines)
    rows += fold_row("without a model: " + predicts, 0, result.rows, metrics);
  return fmt::format(
      "<h3>Walk forward</h3>\n<p class=\"hint\">Each line is a model that was trained on the rows before it "
      "alone and measured on what came next.</p>\n<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n"
      "<tbody>\n{}</tbody></table></div>\n{}",
      head, rows, verdict_lines(result));
}

std::string stages_table(const std::vector<StageResult>& stages) {
  if (stages.empty()) return "";
  std::string head =
      "<th>After</th><th>Classes</th><th class=\"number\">Rows</th><th class=\"number\">Replayed</th>";
  for (std::size_t i = 0; i < stages.size(); ++i)
    head += fmt::format("<th class=\"number\">Right of stage {}</th>", i + 1);
  std::string rows;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageResult& stage = stages[i];
    rows += fmt::format(
        "<tr><td>stage {}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>", i + 1,
        html_escaped(join(stage.classes, ", ")), count_text(stage.rows), count_text(stage.replayed_rows));
    for (std::size_t j = 0; j < stages.size(); ++j)
      rows += fmt::format(
          "<td class=\"number\">{}</td>",
          j < stage.accuracies.size() ? fmt::format("{:.1f} %", 100 * stage.accuracies[j]) : std::string());
    rows += "</tr>\n";
  }
  return fmt::format(
      "<h3>Stages</h3>\n<p class=\"hint\">Classes arrived one group after the other. Each line is the model "
      "after a stage, measured on rows held back, of the classes of each stage so far.</p>\n"
      "<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      head, rows);
}

// NVML's words are larger than what they mean.
std::string gpu_text(const GpuUse& use) {
  return fmt::format(
      "busy {:.0f} % of the time (at least one multiprocessor had work), {:.0f} W and {} MHz on average, {} "
      "in use at "
      "most, by all processes",
      100 * use.busy, use.watts, count_text(std::llround(use.megahertz)), human_bytes(use.most_bytes));
}

std::string training_table(const RunRecord::Training& training) {
  std::string rows = fact("Model", training.model_type);
  if (training.members > 0) rows += fact("Members", count_text(training.members));
  rows += fact(training.members > 0 ? "Parameters in all" : "Parameters", count_text(training.parameters));
  if (training.alpha) rows += fact("Alpha", human_number(*training.alpha));
  for (const ChosenNumber& each : training.chosen) rows += fact(title_of(each), text_of(each));
  rows += fact("Alpha", training.alphas_text());
  rows += fact("Engine", training.engine);
  rows += fact("Device", training.device);
  rows += fact("Data placed in", training.placement);
  const RunRecord::Training::Steps& steps = training.steps_taken;
  rows += fact("Precision", steps.precision);
  if (steps.batch_size > 0)
    rows += fact(reads_cubes(training.model_type) ? "Cubes per step" : "Rows per step",
                 count_text(steps.batch_size));
  if (steps.learning_rate > 0) rows += fact("Learning rate", human_number(steps.learning_rate));
  for (const std::string& each : steps.adjustments) rows += fact("Changed on the way", each);
  if (steps.peak_bytes > 0)
    rows += fact("Memory of the device",
                 fmt::format("{} at most, {} at the end, {} reserved", human_bytes(steps.peak_bytes),
                             human_bytes(steps.allocated_bytes), human_bytes(steps.reserved_bytes)));
  rows += fact("Ended", training.end_text());
  if (training.epochs > 0) rows += fact("Epochs", count_text(training.epochs));
  if (training.best_epoch > 0) rows += fact("Best epoch", count_text(training.best_epoch));
  if (training.steps > 0) rows += fact("Steps", count_text(training.steps));
  rows += fact("Training time", human_seconds(training.seconds));
  if (steps.computing_share > 0)
    rows += fact("Computing", fmt::format("{:.1f} % of the time between first and last step",
                                          100 * (steps.computing_share - steps.waiting_share)));
  const bool is_on_gpu = training.device.starts_with("cuda");
  if (steps.waiting_share > 0)
    rows += fact("Waiting for data",
                 fmt::format("{:.1f} % of the time between first and last step", 100 * steps.waiting_share));
  if (steps.computing_share > 0 && (is_on_gpu || steps.waiting_share > 0))
    rows += fact(is_on_gpu ? "Use of the GPU" : "Use of the CPU",
                 verdict_on(time_shares(steps.computing_share, steps.waiting_share), is_on_gpu));
  if (steps.gpu.readings > 0) rows += fact("The GPU by its driver", gpu_text(steps.gpu));
  if (training.steps > 0 && training.seconds > 0)
    rows += fact("Steps per second",
                 count_text(std::llround(static_cast<double>(training.steps) / training.seconds)));
  rows += fact("Checkpoints", checkpoints_text(training));
  return fmt::format("<table><tbody>\n{}</tbody></table>\n", rows) + stages_table(training.stages) +
         walk_forward_table(training.walk_forward) + out_of_fold_table(training.out_of_fold);
}

// Drawn as SVG, because the page's policy leaves no room for styles of single elements.
std::string time_bar(double seconds, double longest) {
  constexpr double full_width = 160;
  const double width = longest > 0 ? std::max(1.0, full_width * seconds / longest) : 0;
  return fmt::format(
      "<svg width=\"{0}\" height=\"8\" aria-hidden=\"true\"><rect width=\"{1:.1f}\" height=\"8\" "
      "rx=\"2\"/></svg>",
      full_width, width);
}

// "price (regression) from 9 columns of houses.csv: 412 rows to train on, 103 to test with"
std::string what_was_learnt(const RunRecord& record) {
  if (record.trainings.empty() || record.trainings.front().target.empty()) return "";
  const RunRecord::Training& training = record.trainings.front();
  const bool are_cubes = reads_cubes(training.model_type);
  std::string text = fmt::format(
      "{} ({}) from {}", html_escaped(training.target), html_escaped(training.task),
      are_cubes ? "the pixels" : counted(static_cast<std::uint64_t>(training.features), "column"));
  if (!record.sources.empty()) text += " of " + html_escaped(join(record.sources, ", "));
  text += fmt::format(": {} to train on",
                      counted(static_cast<std::uint64_t>(training.rows), are_cubes ? "cube" : "row"));
  if (!record.results.empty())
    text += fmt::format(", {} to test with", count_text(record.results.front().rows));
  return "<p class=\"what\">" + text + "</p>\n";
}

std::string dropped_rows_line(const RunRecord& record) {
  std::vector<std::string> parts;
  for (const RunRecord::DroppedRows& each : record.dropped_rows) parts.push_back(each.text());
  return parts.empty() ? "" : "<p class=\"what\">Dropped: " + html_escaped(join(parts, ", ")) + "</p>\n";
}

}  // namespace

std::string title_section(const RunContents& contents) {
  const RunRecord& record = contents.record;
  std::string line = html_escaped(contents.id);
  if (!record.started.empty()) line += " · started " + html_escaped(time_text(record.started));
  line += " · took " + human_seconds(record.seconds);
  return fmt::format(
      "<header>\n<h1>{0}</h1>\n<span class=\"status {1}\">{1}</span>\n{2}{3}<p>{4}</p>\n</header>\n",
      html_escaped(record.name.empty() ? contents.id : record.name), status_name(record.status),
      what_was_learnt(record), dropped_rows_line(record), line);
}

std::string error_section(const RunRecord& record) {
  if (record.error.empty()) return "";
  return fmt::format("<section class=\"error\">\n<h2>What went wrong</h2>\n<p>{}</p>\n</section>\n",
                     html_escaped(record.error));
}

std::string warnings_section(const RunContents& contents) {
  std::string items;
  for (const std::vector<std::string>* list : {&contents.record.warnings, &contents.left_out}) {
    for (const std::string& warning : *list) items += fmt::format("<li>{}</li>\n", html_escaped(warning));
  }
  if (items.empty()) return "";
  return fmt::format("<section class=\"warnings\">\n<h2>Warnings</h2>\n<ul>\n{}</ul>\n</section>\n", items);
}

std::string notes_section(const RunRecord& record) {
  if (record.notes.empty()) return "";
  std::string items;
  for (const std::string& note : record.notes) items += fmt::format("<li>{}</li>\n", html_escaped(note));
  return fmt::format("<section class=\"notes\">\n<h2>Notes</h2>\n<ul>\n{}</ul>\n</section>\n", items);
}

std::string trainings_section(const RunRecord& record) {
  if (record.trainings.empty()) return "";
  std::string tables;
  for (const RunRecord::Training& training : record.trainings) {
    if (record.trainings.size() > 1) tables += fmt::format("<h3>{}</h3>\n", html_escaped(training.card));
    tables += training_table(training);
  }
  return fmt::format("<section>\n<h2>Training</h2>\n{}</section>\n", tables);
}

std::string cards_section(const RunRecord& record) {
  if (record.cards.empty()) return "";
  double longest = 0;
  for (const RunRecord::CardLine& card : record.cards) longest = std::max(longest, card.seconds);
  std::string rows;
  for (const RunRecord::CardLine& card : record.cards) {
    rows +=
        fmt::format("<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"bar\">{}</td></tr>\n",
                    html_escaped(card.id), html_escaped(card.type), human_seconds(card.seconds),
                    card.reused ? "<span class=\"tag\">reused</span>" : time_bar(card.seconds, longest));
  }
  return fmt::format(
      "<section>\n<h2>Cards</h2>\n<div class=\"scroll\"><table "
      "class=\"cards\">\n<thead><tr><th>Card</th><th>Type</th>"
      "<th class=\"number\">Time</th><th></th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n</section>\n",
      rows);
}

std::string machine_section(const RunRecord& record) {
  std::string rows = fact("Processor", record.cpu);
  if (record.cores > 0) rows += fact("Cores", count_text(record.cores));
  rows += fact("GPU", record.gpu.empty() ? "none used" : record.gpu);
  if (record.peak_memory_bytes > 0) rows += fact("Peak memory", human_bytes(record.peak_memory_bytes));
  rows += fact("Stoker", record.stoker_version);
  rows += fact("LibTorch", record.torch_version.empty() ? "not loaded" : record.torch_version);
  return fmt::format(
      "<section>\n<h2>Hardware and versions</h2>\n<table><tbody>\n{}</tbody></table>\n</section>\n", rows);
}

std::string document_section(const RunContents& contents) {
  if (contents.document.empty()) return "";
  return fmt::format(
      "<section>\n<h2>Settings</h2>\n<p class=\"hint\">pipeline.yaml, with every default written out</p>\n"
      "<pre tabindex=\"0\">{}</pre>\n</section>\n",
      html_escaped(contents.document));
}

}  // namespace stoker
