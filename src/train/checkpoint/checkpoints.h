#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/notes.h"
#include "engine/engine.h"
#include "train/checkpoint/checkpoints_to_keep.h"
#include "train/loop/best_epochs.h"
#include "train/loop/progress.h"

namespace stoker {

// What a checkpoint and a training must share for one to continue the other: name and value of each setting
// that the engine's state depends on. Epochs and learning rates are not among them: a run may be prolonged.
using Identity = std::vector<std::pair<std::string, std::string>>;
// The name under which the family of the model stands there. Earlier versions did not keep it.
constexpr const char* model_of_identity = "model";
// The request's datasets must still lie in the host's memory.
Identity identity_of(const EngineRequest& request);

// A checkpoint is of another training, or of a version that kept less. In a sweep this is no candidate's
// fault.
class ForeignCheckpoint : public Error {
 public:
  explicit ForeignCheckpoint(const std::string& message) : Error(ExitCode::wrong_request, message) {}
};

struct Checkpoint {
  std::string engine;
  Progress progress;
  NamedArrays state;
  std::optional<EpochScore> score = std::nullopt;  // of one that may be kept for being one of the best
};

// The parameters of an engine's state, under the names that the state has for them.
NamedArrays parameters_in(const NamedArrays& state);

// What is said of one that could not be written on the way.
std::string told_of_failed_write(const Error& error);

// The checkpoints of one training:
//   step-000012500/model.safetensors      the parameters
//   step-000012500/optimizer.safetensors  the rest of the engine's state
//   step-000012500/state.json             progress, engine, device, identity
//   step-000012500/score.json             of one at the end of an epoch, where the best are kept: how good
//   step-000012500/DONE                   SHA-256 of the others; without it the checkpoint does not exist
// Each is written under a temporary name, synced and renamed. The newest are kept, and the best.
class Checkpoints {
 public:
  // With an empty folder name nothing is kept.
  Checkpoints(std::filesystem::path folder, Identity identity, Notes notes, CheckpointsToKeep keep = {});

  // Those to come say that they were made there.
  void name_device(Device device) { device_ = device.name(); }
  bool kept() const { return !folder_.empty(); }
  // The training goes back: steps that were saved come again, and are saved again.
  void go_back() { saved_step_.reset(); }
  // Whether the newest was made after so many steps, or none is kept anyway.
  bool is_saved(std::int64_t step) const { return !kept() || saved_step_ == step; }

  // The newest whole one. Damaged ones are skipped with a warning; one of another training is refused.
  std::optional<Checkpoint> newest();
  // Removes what an earlier training left, so that it cannot be mistaken for this one's.
  void clear();
  // Of those that have one and are whole.
  std::vector<EpochScore> scores() const;
  // On a full disk these throw, and the older checkpoints are as they were. What is there already is not
  // written again.
  void save(const Engine& engine, const Progress& progress);
  void write(const Checkpoint& checkpoint);

 private:
  void remove_old(std::int64_t newest_step) const;

  std::filesystem::path folder_;
  Identity identity_;
  Notes notes_;
  CheckpointsToKeep keep_;
  std::string device_;
  std::optional<std::int64_t> saved_step_;
};

// Where the newest in a folder was made, by name; "" where there is none, or it does not say so.
std::string device_of_newest(const std::filesystem::path& folder);

}  // namespace stoker
