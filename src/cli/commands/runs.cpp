#include "store/runs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/find_run.h"
#include "cli/view/evaluation_view.h"
#include "cli/view/stages_view.h"
#include "cli/view/terminal.h"
#include "cli/view/walk_forward_view.h"
#include "config/field.h"
#include "predict/spectral/cube_scores.h"
#include "report/compare/compare_noise.h"
#include "report/compare/compare_rows.h"
#include "report/compare/compare_seeds.h"
#include "report/compare/compare_settings.h"
#include "report/compare/compared_runs.h"
#include "report/sweep/sweep_winner.h"

namespace stoker::cli {
namespace {

struct RunsCommand {
  std::string out = "runs";
  std::vector<std::string> names;
  bool force = false;
  bool json = false;
};

std::string status_of(const ListedRun& run) {
  return std::string(status_name(run.record.status));
}

// A run writes its time when it ends: of one that goes on or was killed it is not known.
std::string time_of(const ListedRun& run) {
  return run.record.seconds > 0 ? human_seconds(run.record.seconds) : "-";
}

// "rmse 10.2, mae 8.1, …": the first metrics of the first evaluation; or how to come to one.
std::string short_result(const ListedRun& run) {
  if (!run.to_go_on.empty()) return "resume with: " + run.to_go_on;
  if (run.record.results.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, value] : run.record.results.front().metrics) {
    if (parts.size() < 4)
      parts.push_back(
          fmt::format("{} {}", name, std::abs(value) < 1000 ? fmt::format("{:.4g}", value) : number(value)));
  }
  return join(parts, ", ");
}

ExitCode list(const RunsCommand& command) {
  std::vector<std::string> damaged;
  const std::vector<ListedRun> runs =
      list_runs(command.out, damaged, command.json ? Read::whole : Read::in_part);
  for (const std::string& each : damaged) {
    tell(Pieces{{"warning:", Colour::yellow}, {" cannot be read: " + each}});
  }
  if (command.json) {
    nlohmann::json json = {{"runs", nlohmann::json::array()}, {"damaged", damaged}};
    for (const ListedRun& run : runs) json["runs"].push_back(run_json(run));
    print_json(json);
    return ExitCode::done;
  }
  if (runs.empty()) {
    print(fmt::format("no runs in {}\n", command.out));
    return ExitCode::done;
  }
  std::vector<std::vector<std::string>> rows{{"run", "status", "time", "result"}};
  for (const ListedRun& run : runs) {
    rows.push_back({run.id, status_of(run), time_of(run), short_result(run)});
  }
  print(aligned(rows));
  return ExitCode::done;
}

std::string training_line(const RunRecord::Training& training) {
  const std::string members =
      training.members == 0
          ? ""
          : "ensemble of " + counted(static_cast<std::uint64_t>(training.members), "member") + ", ";
  std::string text = fmt::format(
      "{}: {}{} with {}, {} on {}, {}", training.card, members, training.model_type,
      counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, training.parameters)), "parameter"),
      training.engine, training.device, human_seconds(training.seconds));
  if (training.epochs > 0) text += ", " + counted(static_cast<std::uint64_t>(training.epochs), "epoch");
  if (training.best_epoch > 0) text += fmt::format(", best {}", training.best_epoch);
  if (training.alpha) text += fmt::format(", alpha {:.6g}", *training.alpha);
  if (!training.alphas.empty()) text += ", alpha " + training.alphas_text();
  return text + fmt::format(", {}\n", training.end_text());
}

std::string chosen_text(const RunRecord::Training& training) {
  std::string text;
  for (const ChosenNumber& each : training.chosen)
    text += fmt::format("  {}: {} {}\n", training.card, each.name, text_of(each));
  return text;
}

std::string out_of_fold_text(const RunRecord::Training& training) {
  const RunRecord::Result& result = training.out_of_fold;
  if (result.metrics.empty()) return "";
  std::vector<std::vector<std::string>> metrics;
  for (const auto& [name, value] : result.metrics) metrics.push_back({name, number(value)});
  return fmt::format("\n{}, out-of-fold ({}{})\n", result.card,
                     counted(static_cast<std::uint64_t>(result.rows), "row"),
                     training.epochs > 0 ? "; early stopping has seen these rows" : "") +
         aligned(metrics, "  ");
}

std::string stages_text(const RunRecord::Training& training) {
  if (training.stages.empty()) return "";
  return printable(training.card) + ": stages\n" + stages_table(training.stages);
}

std::string walk_forward_text(const RunRecord::Training& training) {
  if (training.walk_forward.folds.empty()) return "";
  return fmt::format("\n{}, walk forward (each fold trained on the rows before it)\n", training.card) +
         walk_forward_table(training.walk_forward);
}

// In real units; of very many, the first.
std::string coefficients_text(const RunRecord::Training& training) {
  constexpr std::size_t most_lines = 40;
  if (training.coefficients.empty()) return "";
  std::vector<std::vector<std::string>> lines;
  for (const RunRecord::Coefficient& each : training.coefficients) {
    if (lines.size() == most_lines) break;
    lines.push_back({each.feature, number(each.value)});
    if (each.deviation) lines.back().push_back("± " + number(*each.deviation));
    if (!each.of_class.empty()) lines.back().insert(lines.back().begin(), each.of_class);
  }
  std::string text =
      fmt::format("\nCoefficients of {}, for one more of each feature in its own unit{}\n", training.card,
                  training.coefficients.front().deviation ? " (mean of the members ± their deviation)" : "") +
      aligned(lines, "  ");
  if (training.coefficients.size() > most_lines) text += "  … and more in coefficients.csv\n";
  return text;
}

std::string winner_text(const SweepWinner& winner) {
  std::vector<std::vector<std::string>> lines{
      {"trial", fmt::format("{} of {}", winner.trial, human_count(winner.trials))},
      {winner.metric, winner.score ? number(*winner.score) : "–"}};
  for (const auto& [name, value] : winner.settings) lines.push_back({name, value});
  lines.push_back({"run", winner.run.empty() ? "not refitted" : winner.run});
  if (!winner.final_run.empty()) lines.push_back({"trained on all rows", winner.final_run});
  if (winner.record) {
    for (const auto& result : winner.record->results)
      for (const auto& [name, value] : result.metrics)
        lines.push_back({fmt::format("{}.{}", result.card, name), number(value)});
  }
  std::string text = "\nWinner\n" + aligned(lines, "  ");
  if (!winner.final_run.empty()) text += fmt::format("  {}\n", scores_are_of_an_earlier_model);
  return text;
}

std::string page_of(const ListedRun& run) {
  const RunRecord& record = run.record;
  std::vector<std::vector<std::string>> rows{
      {"run", run.id},
      {"name", record.name},
      {"status", status_of(run)},
      {"started", record.started},
      {"time", record.seconds > 0 ? time_of(run) + " in all" : "not known until it ends"},
      {"memory", human_bytes(record.peak_memory_bytes) + " at most"},
      {"machine",
       fmt::format("{}, {}", record.cpu, counted(static_cast<std::uint64_t>(record.cores), "core"))},
      {"version", "stoker " + record.stoker_version}};
  if (!record.error.empty()) rows.insert(rows.begin() + 3, {"error", record.error});
  if (!record.gpu.empty()) rows.push_back({"gpu", record.gpu});
  if (!record.torch_version.empty()) rows.back()[1] += ", torch " + record.torch_version;
  std::string text = aligned(rows);
  if (!record.cards.empty()) text += "\nCards\n";
  std::vector<std::vector<std::string>> cards;
  for (const auto& card : record.cards) {
    cards.push_back({card.id, card.type, card.reused ? "reused" : human_seconds(card.seconds)});
  }
  text += aligned(cards, "  ");
  if (!record.trainings.empty()) text += "\nTraining\n";
  for (const auto& training : record.trainings)
    text += "  " + training_line(training) + chosen_text(training);
  for (const auto& training : record.trainings) text += coefficients_text(training);
  for (const auto& training : record.trainings) text += stages_text(training);
  for (const auto& training : record.trainings) text += walk_forward_text(training);
  for (const auto& training : record.trainings) text += out_of_fold_text(training);
  if (const auto winner = winner_of(run.paths)) text += winner_text(*winner);
  for (const auto& result : record.results) {
    text += "\n" + result.card;
    const RunRecord::Training* training = training_behind(record, result.card);
    const bool are_cubes = training != nullptr && reads_cubes(training->model_type);
    if (result.rows > 0)
      text +=
          fmt::format(" ({})", counted(static_cast<std::uint64_t>(result.rows), are_cubes ? "cube" : "row"));
    text += "\n";
    std::vector<std::vector<std::string>> metrics;
    for (const auto& [name, value] : result.metrics) metrics.push_back({name, number(value)});
    text += aligned(metrics, "  ");
  }
  for (const std::string& warning : record.warnings) text += fmt::format("\nwarning: {}\n", warning);
  for (const std::string& note : record.notes) text += fmt::format("\nnote: {}\n", note);
  return text + fmt::format("\n{}\n", run.paths.folder.string());
}

ExitCode show(const RunsCommand& command) {
  const ListedRun run = run_named(command.names.front(), command.out);
  if (command.json) {
    print_json(whole_run_json(run));
  } else {
    print(page_of(run));
  }
  return ExitCode::done;
}

std::string metric_of(const RunRecord& record, const std::string& card, const std::string& metric) {
  for (const auto& result : record.results) {
    if (result.card != card) continue;
    for (const auto& [name, value] : result.metrics) {
      if (name == metric) return number(value);
    }
  }
  return "–";
}

// One line per metric that any of the runs has, one column per run.
std::vector<std::vector<std::string>> metric_rows(const std::vector<ListedRun>& runs) {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const ListedRun& run : runs) {
    for (const auto& result : run.record.results) {
      for (const auto& [name, value] : result.metrics) {
        const std::pair key{result.card, name};
        if (std::find(wanted.begin(), wanted.end(), key) == wanted.end()) wanted.push_back(key);
      }
    }
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [card, metric] : wanted) {
    rows.push_back({fmt::format("{}.{}", card, metric)});
    for (const ListedRun& run : runs) rows.back().push_back(metric_of(run.record, card, metric));
  }
  return rows;
}

// Of sweeps: what was searched and found.
std::vector<std::vector<std::string>> winner_rows(const std::vector<ListedRun>& runs) {
  std::vector<std::vector<std::string>> rows;
  const auto cell = [&](const std::string& name, std::size_t run) -> std::string& {
    auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row[0] == name; });
    if (found == rows.end()) {
      rows.emplace_back(runs.size() + 1, "–");
      rows.back()[0] = name;
      found = rows.end() - 1;
    }
    return (*found)[run + 1];
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto winner = winner_of(runs[i].paths);
    if (!winner) continue;
    cell("winner", i) = fmt::format("trial {} of {}", winner->trial, human_count(winner->trials));
    if (!winner->run.empty())
      cell("winner's run", i) = std::filesystem::path(winner->run).filename().string();
    if (!winner->final_run.empty())
      cell("winner on all rows, after the scores", i) =
          std::filesystem::path(winner->final_run).filename().string();
    cell("winner's " + winner->metric, i) = winner->score ? number(*winner->score) : "–";
    for (const auto& [name, value] : winner->settings) cell("winner's " + name, i) = value;
  }
  return rows;
}

std::string first_training(const RunRecord& record, std::string RunRecord::Training::*member) {
  return record.trainings.empty() ? "–" : record.trainings.front().*member;
}

ExitCode compare(const RunsCommand& command) {
  std::vector<ListedRun> runs;
  for (const std::string& name : command.names) runs.push_back(run_named(name, command.out));
  if (command.json) {
    print_json(comparison_json(std::move(runs)));
    return ExitCode::done;
  }
  std::vector<std::vector<std::string>> winners = winner_rows(runs);
  for (const DifferentRows& each : different_rows(runs))
    tell(Pieces{{"warning:", Colour::yellow}, {" " + words_of(each)}});
  let_winners_stand_for_sweeps(runs);
  std::vector<std::vector<std::string>> rows{{"run"},    {"status"}, {"model"},
                                             {"engine"}, {"device"}, {"time"}};
  for (const ListedRun& run : runs) {
    rows[0].push_back(run.id);
    rows[1].push_back(status_of(run));
    rows[2].push_back(first_training(run.record, &RunRecord::Training::model_type));
    rows[3].push_back(first_training(run.record, &RunRecord::Training::engine));
    rows[4].push_back(first_training(run.record, &RunRecord::Training::device));
    rows[5].push_back(time_of(run));
  }
  for (auto& row : winners) rows.push_back(std::move(row));
  for (auto& row : metric_rows(runs)) rows.push_back(std::move(row));
  for (auto& row : noise_rows(runs)) rows.push_back(std::move(row));
  for (auto& row : differing_settings(runs)) rows.push_back(std::move(row));
  print(aligned(rows));
  if (const auto by_seeds = seed_rows(runs); !by_seeds.empty()) print("\n" + aligned(by_seeds));
  if (const std::string unknown = unknown_of_seeds(runs); !unknown.empty()) tell(unknown);
  return ExitCode::done;
}

ExitCode remove(const RunsCommand& command) {
  const ListedRun run = run_named(command.names.front(), command.out);
  delete_run(run, command.force);
  if (command.json) {
    print_json({{"deleted", run.id}});
  } else {
    print(fmt::format("deleted {}\n", run.paths.folder.string()));
  }
  return ExitCode::done;
}

constexpr const char* run_help = "Folder, id, beginning of an id, or latest";

void add_shared_flags(CLI::App& app, RunsCommand& command) {
  app.add_option("--out", command.out, "Folder for the run folders")->capture_default_str();
  app.add_flag("--json", command.json, "Print one JSON object");
}

}  // namespace

Action declare_runs(CLI::App& app) {
  const auto command = std::make_shared<RunsCommand>();
  add_shared_flags(app, *command);
  CLI::App* listed = app.add_subcommand("list", "All runs, newest first; the same as `stoker runs` alone");
  CLI::App* shown = app.add_subcommand("show", "One run: cards, training, metrics, warnings");
  CLI::App* compared =
      app.add_subcommand("compare", "Metrics and differing settings of several runs side by side");
  CLI::App* deleted = app.add_subcommand("delete", "Remove a run folder and everything in it");
  for (CLI::App* each : {listed, shown, compared, deleted}) add_shared_flags(*each, *command);
  shown->add_option("RUN", command->names, run_help)->required()->expected(1);
  compared->add_option("RUN", command->names, run_help)->required()->expected(2, 1000);
  deleted->add_option("RUN", command->names, run_help)->required()->expected(1);
  deleted->add_flag("--force", command->force, "Even if the run is still running; it then stops by itself");
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n"
      "  stoker runs\n"
      "  stoker runs show latest\n"
      "  stoker runs compare 2026-11-15_10 2026-11-15_11\n"
      "  stoker runs delete 2026-11-15_10-20-30_boston-housing");
  return [=] {
    if (shown->parsed()) return show(*command);
    if (compared->parsed()) return compare(*command);
    if (deleted->parsed()) return remove(*command);
    return list(*command);
  };
}

}  // namespace stoker::cli
