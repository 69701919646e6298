#include "report/sweep/sweep_winner.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/sweep/sweep_contents.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Where it was made, or beside the sweep if both were moved together.
std::optional<RunRecord> record_of_winner(const fs::path& run, const fs::path& sweep, fs::path& found) {
  const fs::path beside = fs::absolute(sweep).lexically_normal().parent_path() / run.filename();
  if (run.empty()) return std::nullopt;
  for (const fs::path& folder : {run, beside}) {
    if (!fs::exists(RunPaths{folder}.record())) continue;
    try {
      found = folder;
      return read_record({folder});
    } catch (const Error&) {
      // The list of runs says what is wrong with it; the sweep has its own record.
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<SweepWinner> winner_of(const RunPaths& paths) {
  if (!has_sweep_contents(paths.folder)) return std::nullopt;
  const SweepContents contents = read_sweep_contents(paths.folder);
  const SweepContents::Trial* trial = contents.winning();
  if (trial == nullptr) return std::nullopt;
  SweepWinner winner{trial->number,
                     contents.trials.size(),
                     contents.metric,
                     trial->score,
                     {},
                     contents.winner_run,
                     contents.final_run,
                     {},
                     {}};
  winner.record = record_of_winner(contents.winner_run, paths.folder, winner.folder);
  for (std::size_t i = 0; i < contents.settings.size(); ++i)
    winner.settings.emplace_back(contents.settings[i].name, trial->values[i]);
  return winner;
}

nlohmann::json winner_json(const SweepWinner& winner) {
  nlohmann::json json = {{"trial", winner.trial},
                         {"trials", winner.trials},
                         {"metric", winner.metric},
                         {"score", winner.score ? nlohmann::json(*winner.score) : nlohmann::json()},
                         {"settings", nlohmann::json::object()},
                         {"run", winner.run}};
  if (!winner.final_run.empty()) json["final_run"] = winner.final_run;
  for (const auto& [name, value] : winner.settings) json["settings"][name] = value;
  if (winner.record) json["results"] = winner.record->to_json().at("results");
  return json;
}

}  // namespace stoker
