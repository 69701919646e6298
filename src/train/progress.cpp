#include "train/progress.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using nlohmann::json;

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
  progress.stopped_early = value.at("stopped_early").get<bool>();
  if (value.contains("checkpoints")) {
    progress.checkpoints.taken = value.at("checkpoints").at("taken").get<std::int64_t>();
    progress.checkpoints.seconds = number_from_json(value.at("checkpoints").at("seconds"));
  }
  for (const json& epoch : value.at("epochs")) progress.epochs.push_back(epoch_from_json(epoch, 0));
  if (progress.next_step < 0 || progress.epochs_since_best < 0)
    refuse("the progress of a training has a negative count");
  return progress;
}

}  // namespace

json Progress::to_json() const {
  json list = json::array();
  for (const EpochReport& report : epochs) list.push_back(epoch_to_json(report, 0));
  return {
      {"phase", phase},
      {"next_step", next_step},
      {"plateau_factor", number_to_json(plateau_factor)},
      {"epochs_since_best", epochs_since_best},
      {"best_validation_loss", best_validation_loss ? number_to_json(*best_validation_loss) : json(nullptr)},
      {"seconds", number_to_json(seconds)},
      {"unfinished_epoch_seconds", number_to_json(unfinished_epoch_seconds)},
      {"stopped_early", stopped_early},
      {"checkpoints", {{"taken", checkpoints.taken}, {"seconds", number_to_json(checkpoints.seconds)}}},
      {"epochs", std::move(list)}};
}

Progress Progress::from_json(const json& value) {
  try {
    return progress_from(value);
  } catch (const json::exception& error) {
    refuse("this is not the progress of a training: {}", error.what());
  }
}

}  // namespace stoker
