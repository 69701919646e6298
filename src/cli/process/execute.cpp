#include "cli/process/execute.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/process/interrupt.h"
#include "cli/process/progress_file.h"
#include "cli/view/evaluation_view.h"
#include "cli/view/profile_view.h"
#include "cli/view/progress_view.h"
#include "cli/view/stages_view.h"
#include "cli/view/terminal.h"
#include "cli/view/walk_forward_view.h"
#include "model/family.h"
#include "predict/spectral/cube_scores.h"
#include "store/runs.h"

namespace stoker::cli {
namespace {

std::size_t pictures_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".png") ++count;
  }
  return count;
}

nlohmann::json as_json(const Document& document, const RunSummary& summary) {
  const RunPaths paths{summary.folder};
  const RunRecord record = read_record(paths);
  nlohmann::json json = {{"name", document.name},
                         {"run", summary.folder.filename().string()},
                         {"folder", summary.folder.string()},
                         {"seconds", summary.seconds},
                         {"cards", nlohmann::json::array()},
                         {"trainings", nlohmann::json::array()},
                         {"evaluations", nlohmann::json::object()},
                         {"warnings", record.warnings},
                         {"notes", record.notes}};
  if (exists(paths.model())) json["model"] = paths.model().string();
  if (exists(summary.report)) json["report"] = summary.report.string();
  if (summary.profile) {
    json["profile"] = profile_json(*summary.profile);
    json["profile"]["file"] = paths.profile().string();
  }
  if (pictures_in(paths.plots()) > 0) json["plots"] = paths.plots().string();
  for (const CardOutcome& card : summary.cards) {
    json["cards"].push_back(
        {{"id", card.id}, {"type", card.type}, {"reused", card.reused}, {"seconds", card.seconds}});
  }
  for (const RunRecord::Training& training : summary.trainings)
    json["trainings"].push_back(training.to_json());
  for (const auto& [card, evaluation] : summary.evaluations) {
    json["evaluations"][card] = evaluation_json(evaluation, training_behind(record, card));
  }
  return json;
}

void add_out_of_fold(Pieces& text, const RunRecord::Training& training) {
  const RunRecord::Result& result = training.out_of_fold;
  if (result.metrics.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : result.metrics) rows.push_back({name, number(value)});
  text.push_back({printable(fmt::format("{}: out-of-fold on {}", result.card,
                                        counted(static_cast<std::uint64_t>(result.rows), "row"))),
                  Colour::bold});
  text.push_back(
      {(training.epochs > 0 ? " (early stopping has seen these rows)\n" : "\n") + aligned(rows, "  ")});
}

void add_walk_forward(Pieces& text, const RunRecord::Training& training) {
  if (training.walk_forward.folds.empty()) return;
  text.push_back({printable(training.card + ": walk forward"), Colour::bold});
  text.push_back(
      {" (each fold trained on the rows before it)\n" + walk_forward_table(training.walk_forward)});
}

void add_stages(Pieces& text, const RunRecord::Training& training) {
  if (training.stages.empty()) return;
  text.push_back({printable(training.card + ": stages"), Colour::bold});
  text.push_back({" (measured on rows held back)\n" + stages_table(training.stages)});
}

// What a prediction costs.
std::string ensemble_text(const RunRecord::Training& training) {
  return fmt::format(
      "{} of {}, {} in all", counted(static_cast<std::uint64_t>(training.members), "member"),
      training.model_type,
      counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, training.parameters)), "parameter"));
}

// The penalty that was asked for, or that cross-validation chose.
std::string alpha_text(const RunRecord::Training& training) {
  const bool chosen = family_named(training.model_type).folds != nullptr;
  return fmt::format("{:.6g}{} ({} {})", *training.alpha, chosen ? ", chosen by cross-validation" : "",
                     training.card, training.model_type);
}

std::string reused_text(const RunSummary& summary) {
  std::vector<std::string> reused;
  for (const CardOutcome& card : summary.cards) {
    if (card.reused) reused.push_back(card.id);
  }
  return join(reused, ", ");
}

Pieces as_text(const RunSummary& summary) {
  const RunPaths paths{summary.folder};
  const RunRecord record = read_record(paths);
  Pieces text;
  for (const auto& [card, evaluation] : summary.evaluations)
    for (Piece& piece : evaluation_text(card, evaluation, training_behind(record, card)))
      text.push_back(std::move(piece));
  if (summary.evaluations.empty())
    for (const RunRecord::Training& training : summary.trainings)
      for (Piece& piece : training_text(training)) text.push_back(std::move(piece));
  for (const RunRecord::Training& training : summary.trainings) {
    add_stages(text, training);
    add_walk_forward(text, training);
    add_out_of_fold(text, training);
  }
  std::vector<std::vector<std::string>> rows{{"run", summary.folder.string()}};
  const std::string reused = reused_text(summary);
  const std::size_t pictures = pictures_in(paths.plots());
  for (const RunRecord::Training& training : summary.trainings) {
    if (training.alpha) rows.push_back({"alpha", alpha_text(training)});
    if (!training.alphas.empty())
      rows.push_back(
          {"alpha", fmt::format("{} ({} {})", training.alphas_text(), training.card, training.model_type)});
    if (training.members > 0) rows.push_back({"ensemble", ensemble_text(training)});
    for (const ChosenNumber& each : training.chosen) rows.push_back({each.name, text_of(each)});
  }
  for (const RunRecord::DroppedRows& each : record.dropped_rows) rows.push_back({"dropped", each.text()});
  if (!reused.empty()) rows.push_back({"reused", reused});
  if (exists(paths.model())) rows.push_back({"model", paths.model().string()});
  if (exists(paths.coefficients())) rows.push_back({"coefficients", paths.coefficients().string()});
  if (pictures > 0)
    rows.push_back({"pictures", fmt::format("{}/*.png ({})", paths.plots().string(), pictures)});
  if (exists(summary.report)) rows.push_back({"report", summary.report.string()});
  rows.push_back({"time", fmt::format("{} in all", human_seconds(summary.seconds))});
  if (exists(paths.model())) rows.push_back({"predict", way_to_predict(summary, summary.folder)});
  if (summary.profile) {
    for (Piece& piece : profile_text(*summary.profile)) text.push_back(std::move(piece));
    rows.push_back({"profile", fmt::format("{} (open it in ui.perfetto.dev)", paths.profile().string())});
  }
  if (exists(paths.tensorboard()))
    rows.push_back({"tensorboard", fmt::format("tensorboard --logdir {}", paths.tensorboard().string())});
  text.push_back({aligned(rows)});
  return text;
}

}  // namespace

std::string way_to_predict(const RunSummary& summary, const std::filesystem::path& model) {
  const bool are_cubes = std::ranges::any_of(summary.trainings, [](const RunRecord::Training& training) {
    return reads_cubes(training.model_type);
  });
  return fmt::format("stoker predict {} {}", model.string(),
                     are_cubes ? "cubes:PATH --out DIR" : "NEW_DATA.csv");
}

std::uint64_t cache_limit() {
  const char* text = std::getenv("STOKER_CACHE_GIB");
  if (text == nullptr || *text == '\0') return RunOptions().cache_bytes;
  const std::string_view number(text);
  double gib = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), gib);
  if (error != std::errc() || end != number.data() + number.size() || !(gib >= 0 && gib <= 1e6)) {
    refuse(
        "STOKER_CACHE_GIB is '{}'; it must be a number from 0 to 1000000: how many gibibytes the cache may "
        "hold",
        number);
  }
  return static_cast<std::uint64_t>(gib * 1073741824.0);
}

ExitCode execute(const Document& document, const RunOptions& options, const ShowOptions& show) {
  RunOptions bounded = options;
  bounded.cache_bytes = cache_limit();
  StopSignal stop;
  RunSummary summary;
  {
    const InterruptGuard guard(stop);
    ProgressView view(document, show.quiet);
    ProgressFile file(show.progress_file, view);
    try {
      summary = run_pipeline(document, bounded, file, stop);
    } catch (const Error& error) {
      throw Error(error.code(), view.without_told(error.what()), error.cause());
    }
  }
  if (show.json) {
    print_json(as_json(document, summary));
  } else {
    print(as_text(summary));
  }
  return ExitCode::done;
}

}  // namespace stoker::cli
