#include "train/loop/progress.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using nlohmann::json;

json adjustments_to_json(const Adjustments& made) {
  return {{"is_fp32", made.is_fp32},
          {"accumulation_steps", made.accumulation_steps},
          {"checkpoints_activations", made.checkpoints_activations},
          {"said", made.said}};
}

Adjustments adjustments_from(const json& value) {
  Adjustments made{value.at("is_fp32").get<bool>(), value.at("accumulation_steps").get<std::int64_t>(),
                   value.at("checkpoints_activations").get<bool>(),
                   value.at("said").get<std::vector<std::string>>()};
  if (made.accumulation_steps < 0) refuse("the progress of a training has a negative count");
  return made;
}

Progress progress_from(const json& value) {
  Progress progress;
  progress.phase = value.value("phase", std::size_t{0});
  progress.next_step = value.at("next_step").get<std::int64_t>();
  progress.plateau_factor = number_from_json(value.at("plateau_factor"));
  progress.epochs_since_best = value.at("epochs_since_best").get<std::int64_t>();
  if (const json& best = value.at("best_validation_loss"); !best.is_null())
    progress.best_validation_loss = number_from_json(best);
  progress.seconds = number_from_json(value.at("seconds"));
  progress.unfinished_epoch_seconds = number_from_json(value.at("unfinished_epoch_seconds"));
  if (value.contains("loop_seconds")) progress.loop_seconds = number_from_json(value.at("loop_seconds"));
  if (value.contains("waiting_seconds"))
    progress.waiting_seconds = number_from_json(value.at("waiting_seconds"));
  progress.stopped_early = value.at("stopped_early").get<bool>();
  if (value.contains("checkpoints")) {
    progress.checkpoints.taken = value.at("checkpoints").at("taken").get<std::int64_t>();
    progress.checkpoints.seconds = number_from_json(value.at("checkpoints").at("seconds"));
  }
  for (const json& epoch : value.at("epochs")) progress.epochs.push_back(epoch_from_json(epoch, 0));
  // Earlier versions had none of these.
  progress.chosen_batch = value.value("chosen_batch", std::int64_t{0});
  progress.rows_per_shard = value.value("rows_per_shard", std::int64_t{0});
  if (value.contains("adjustments")) progress.adjustments = adjustments_from(value.at("adjustments"));
  if (value.contains("structure") && !value.at("structure").is_null())
    progress.structure = StructureMemory(value.at("structure"));
  if (value.contains("best_structure")) progress.best_structure = StructureMemory(value.at("best_structure"));
  if (progress.next_step < 0 || progress.chosen_batch < 0 || progress.rows_per_shard < 0 ||
      progress.epochs_since_best < 0)
    refuse("the progress of a training has a negative count");
  return progress;
}

}  // namespace

json Progress::to_json() const {
  json list = json::array();
  for (const EpochReport& report : epochs) list.push_back(epoch_to_json(report, 0));
  json progress{
      {"phase", phase},
      {"next_step", next_step},
      {"plateau_factor", number_to_json(plateau_factor)},
      {"epochs_since_best", epochs_since_best},
      {"best_validation_loss", best_validation_loss ? number_to_json(*best_validation_loss) : json(nullptr)},
      {"seconds", number_to_json(seconds)},
      {"unfinished_epoch_seconds", number_to_json(unfinished_epoch_seconds)},
      {"loop_seconds", number_to_json(loop_seconds)},
      {"waiting_seconds", number_to_json(waiting_seconds)},
      {"stopped_early", stopped_early},
      {"checkpoints", {{"taken", checkpoints.taken}, {"seconds", number_to_json(checkpoints.seconds)}}},
      {"epochs", std::move(list)},
      {"chosen_batch", chosen_batch},
      {"rows_per_shard", rows_per_shard},
      {"adjustments", adjustments_to_json(adjustments)},
      {"structure", structure.empty() ? json(nullptr) : structure.json()}};
  if (!best_structure.empty()) progress["best_structure"] = best_structure.json();
  return progress;
}

Progress Progress::from_json(const json& value) {
  try {
    return progress_from(value);
  } catch (const json::exception& error) {
    refuse("this is not the progress of a training: {}", error.what());
  }
}

}  // namespace stoker
