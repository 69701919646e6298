#include "report/compare/compared_runs.h"

#include <nlohmann/json.hpp>

#include "report/compare/compare_noise.h"
#include "report/compare/compare_rows.h"
#include "report/compare/compare_seeds.h"
#include "report/compare/compare_settings.h"
#include "report/sweep/sweep_winner.h"

namespace stoker {

nlohmann::json run_json(const ListedRun& run) {
  nlohmann::json json = run.record.to_json();
  json["run"] = run.id;
  json["folder"] = run.paths.folder.string();
  if (!run.to_go_on.empty()) json["to_go_on"] = run.to_go_on;
  return json;
}

nlohmann::json whole_run_json(const ListedRun& run) {
  nlohmann::json json = run_json(run);
  if (const auto winner = winner_of(run.paths)) json["winner"] = winner_json(*winner);
  return json;
}

void let_winners_stand_for_sweeps(std::vector<ListedRun>& runs) {
  for (ListedRun& run : runs) {
    const auto winner = winner_of(run.paths);
    if (!winner || !winner->record) continue;
    run.record.results = winner->record->results;
    run.record.trainings = winner->record->trainings;
  }
}

nlohmann::json comparison_json(std::vector<ListedRun> runs) {
  nlohmann::json json = {{"runs", nlohmann::json::array()}};
  for (const ListedRun& run : runs) json["runs"].push_back(whole_run_json(run));
  json["differing_settings"] = nlohmann::json::object();
  for (const auto& row : differing_settings(runs)) {
    json["differing_settings"][row.front()] = std::vector<std::string>(row.begin() + 1, row.end());
  }
  json["against_first"] = noise_json(runs);
  json["different_rows"] = to_json(different_rows(runs));
  let_winners_stand_for_sweeps(runs);
  json["by_seeds"] = seeds_json(runs);
  return json;
}

}  // namespace stoker
