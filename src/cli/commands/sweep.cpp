#include "sweep/sweep.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/find_run.h"
#include "cli/flags/named_document.h"
#include "cli/flags/number_range.h"
#include "cli/flags/usage.h"
#include "cli/process/execute.h"
#include "cli/process/interrupt.h"
#include "cli/process/sweep_progress_file.h"
#include "cli/view/sweep_view.h"
#include "cli/view/terminal.h"
#include "report/sweep/sweep_winner.h"
#include "store/runs.h"

namespace stoker::cli {
namespace {

constexpr std::size_t shown_trials = 10;

struct SweepCommand {
  NamedDocument document;
  std::string out = "runs";
  std::string resume;
  std::string folder_name;
  std::int64_t models = -1;
  double time_budget = -1;
  int threads = 0;
  ShowOptions show;
};

// The flags are settings of the document.
SweepDocument load_with_flags(const SweepCommand& command) {
  NamedDocument named = command.document;
  if (command.models >= 0) named.assignments.push_back(fmt::format("sweep.models={}", command.models));
  if (command.time_budget >= 0)
    named.assignments.push_back(fmt::format("sweep.time_budget={}", command.time_budget));
  SweepDocument sweep = load_sweep(named.path, named.assignments);
  if (!named.changes_training_cards()) return sweep;
  return load_sweep(named.path, assignments_for(named, {sweep.train_card}));
}

SweepDocument document_to_resume(const SweepCommand& command, const std::filesystem::path& folder) {
  const bool changes =
      !command.document.path.empty() || command.document.changes_settings() || command.models >= 0;
  if (changes)
    refuse(
        "a resumed sweep keeps its document and settings: leave out DOC, --set, --device, --engine and "
        "--models, or start a new sweep");
  SweepDocument sweep = sweep_of_folder(folder);
  if (command.time_budget >= 0) sweep.config.time_budget = command.time_budget;
  return sweep;
}

std::vector<Trial> best_first(const SweepDocument& sweep, std::vector<Trial> trials) {
  const bool higher = higher_is_better(sweep.config.metric);
  std::sort(trials.begin(), trials.end(), [&](const Trial& a, const Trial& b) {
    const bool pruned_a = a.status == TrialStatus::pruned;
    if (a.score && b.score && pruned_a != (b.status == TrialStatus::pruned)) return !pruned_a;
    return is_better(a, b, higher);
  });
  return trials;
}

// What the sweep and the winner's run both said, once.
std::vector<std::string> together(std::vector<std::string> said, const std::vector<std::string>& more) {
  for (const std::string& each : more)
    if (std::find(said.begin(), said.end(), each) == said.end()) said.push_back(each);
  return said;
}

nlohmann::json as_json(const SweepDocument& sweep, const SweepSummary& summary) {
  const nlohmann::json trials = trials_json(sweep.space, summary.trials);
  nlohmann::json json = {{"name", sweep.base.name},
                         {"folder", summary.folder.string()},
                         {"metric", sweep.config.metric},
                         {"trials", trials},
                         {"best", trials.at(summary.winner)},
                         {"run", summary.run.folder.string()},
                         {"report", (summary.folder / "report.html").string()},
                         {"time_budget_reached", summary.budget_reached},
                         {"seconds", summary.seconds},
                         {"evaluations", nlohmann::json::object()}};
  if (!summary.final_run.empty()) json["final_run"] = summary.final_run.string();
  const RunRecord of_sweep = read_record({summary.folder});
  const RunRecord of_winner = summary.run.folder.empty() ? RunRecord{} : read_record({summary.run.folder});
  json["warnings"] = together(of_sweep.warnings, of_winner.warnings);
  json["notes"] = together(of_sweep.notes, of_winner.notes);
  for (const auto& [card, evaluation] : summary.run.evaluations) {
    for (const auto& [name, value] : evaluation.metrics) json["evaluations"][card]["metrics"][name] = value;
  }
  return json;
}

std::string table_text(const SweepDocument& sweep, const SweepSummary& summary) {
  std::vector<std::vector<std::string>> rows{{"trial", "status", sweep.config.metric}};
  if (sweep.config.folds > 0) rows[0].push_back("±");
  rows[0].push_back("epochs");
  for (const SearchedSetting& setting : sweep.space) rows[0].push_back(setting.name());
  for (const Trial& trial : best_first(sweep, summary.trials)) {
    if (rows.size() > shown_trials) break;
    std::vector<std::string> row{fmt::format("{}", trial.number), std::string(status_name(trial.status)),
                                 trial.score ? number(*trial.score) : "–"};
    if (sweep.config.folds > 0) row.push_back(trial.score ? fmt::format("{:.3g}", trial.spread) : "–");
    row.push_back(fmt::format("{}", trial.epochs));
    for (const config::Value& value : trial.values) row.push_back(value_text(value));
    rows.push_back(std::move(row));
  }
  std::string text = aligned(rows);
  if (summary.trials.size() > shown_trials)
    text += fmt::format("… and {} more in trials.csv\n", summary.trials.size() - shown_trials);
  return text;
}

std::string as_text(const SweepDocument& sweep, const SweepSummary& summary) {
  std::string text = table_text(sweep, summary) + "\n";
  for (const auto& [card, evaluation] : summary.run.evaluations) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : evaluation.metrics) parts.push_back(name + " " + number(value));
    text += fmt::format("the winner refitted, {}: {}\n", card, join(parts, ", "));
  }
  const bool has_final = !summary.final_run.empty();
  if (has_final) text += fmt::format("{}\n", scores_are_of_an_earlier_model);
  std::vector<std::vector<std::string>> lines{{"sweep", summary.folder.string()},
                                              {"report", (summary.folder / "report.html").string()}};
  const std::filesystem::path& model = has_final ? summary.final_run : summary.run.folder;
  if (!model.empty()) lines.push_back({"run", summary.run.folder.string()});
  if (has_final) lines.push_back({"all rows", summary.final_run.string()});
  lines.push_back({"time", human_seconds(summary.seconds) + " in all"});
  if (!model.empty()) lines.push_back({"predict", way_to_predict(summary.run, model)});
  return text + aligned(lines);
}

ExitCode sweep(const SweepCommand& command) {
  if (command.resume.empty() && command.document.path.empty())
    refuse("which document? stoker sweep DOC, or stoker sweep --resume SWEEP");
  SweepOptions options;
  options.out = command.out;
  options.threads = command.threads;
  options.folder_name = command.folder_name;
  if (!command.resume.empty()) options.resume = sweep_named(command.resume, command.out);
  const SweepDocument document =
      options.resume ? document_to_resume(command, *options.resume) : load_with_flags(command);
  StopSignal stop;
  SweepSummary summary;
  {
    const InterruptGuard guard(stop);
    SweepView view(document, command.show.quiet);
    SweepProgressFile file(command.show.progress_file, document, view);
    summary = run_sweep(document, options, file, stop);
  }
  if (command.show.json) {
    print_json(as_json(document, summary));
  } else {
    print(as_text(document, summary));
  }
  return ExitCode::done;
}

}  // namespace

Action declare_sweep(CLI::App& app) {
  const auto command = std::make_shared<SweepCommand>();
  add_document_options(app, command->document, "Pipeline document with searched settings, YAML or JSON");
  app.add_option("--out", command->out, "Folder of the sweep, of the winner's run and of the cache")
      ->capture_default_str();
  app.add_option("--models", command->models, "Candidates that random and halving draw: sweep.models")
      ->check(in_range(std::int64_t{0}, most_candidates));
  app.add_option("--time-budget", command->time_budget, "Seconds for the search: sweep.time_budget")
      ->check(in_range(0.0, 1e9));
  app.add_option("--threads", command->threads, "Models that train at once on the CPU; 0: one per core")
      ->check(in_range(0, 4096));
  app.add_option("--resume", command->resume, "Resume this sweep: folder, id, beginning of an id, or latest");
  add_watched_flags(app, command->folder_name, command->show);
  add_show_flags(app, command->show);
  app.footer(
      "Examples:\n"
      "  stoker sweep examples/sweep.yaml\n"
      "  stoker sweep pipeline.yaml --set 'cards.model.config.dropout={grid: [0, 0.1, 0.2]}' --set "
      "sweep.folds=5\n"
      "  stoker sweep pipeline.yaml --set 'cards.model.config.learning_rate={log_uniform: [1e-4, 1e-2]}' \\\n"
      "      --set sweep.strategy=halving --models 64 --time-budget 600\n"
      "  stoker sweep --resume latest");
  return [command] { return sweep(*command); };
}

}  // namespace stoker::cli
