#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/process/stop.h"
#include "config/field.h"
#include "device/gpu_meter.h"
#include "train/loop/epoch_report.h"
#include "train/stages/structure_memory.h"

namespace stoker {

enum class TrainingEnd { finished, stopped_early, time_limit, interrupted };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::TrainingEnd>{
    "finished", "stopped_early", "time_limit", "interrupted"};

namespace stoker {

// What a training changed on its way so that it could go on. A later sitting begins with it.
struct Adjustments {
  bool is_fp32 = false;                 // in place of a precision in which numbers were not finite
  std::int64_t accumulation_steps = 0;  // after memory ran out; 0: as requested
  bool checkpoints_activations = false;
  std::vector<std::string> said;  // each of them, for people

  bool operator==(const Adjustments&) const = default;
};

// What the checkpoints of a training cost the thread that trains: what they are taken in is its time, what
// they are written in is not.
struct CheckpointCost {
  std::int64_t taken = 0;
  double seconds = 0;
  double last_seconds = 0;  // at the end, where there is nothing left to do meanwhile: until it was written
};

// How far a run has come; saved with every checkpoint (state.json).
struct Progress {
  std::size_t phase = 0;  // of phases_of(), which it stands in
  std::int64_t next_step = 0;
  double plateau_factor = 1;
  std::int64_t epochs_since_best = 0;  // for plateau
  std::optional<double> best_validation_loss;
  double seconds = 0;                   // trained, over all sittings
  double unfinished_epoch_seconds = 0;  // of them, spent on the epoch that next_step lies in
  double loop_seconds = 0;              // with all that is done between two chunks of steps; 0: not known
  double waiting_seconds = 0;           // of the trained ones: for rows that were on their way
  bool stopped_early = false;
  CheckpointCost checkpoints;  // over all sittings
  std::vector<EpochReport> epochs;
  std::int64_t chosen_batch = 0;    // rows, where batch_size was to be chosen; else 0
  std::int64_t rows_per_shard = 0;  // of the order that rows are shuffled in; 0: all together
  Adjustments adjustments;
  StructureMemory structure;
  StructureMemory best_structure;  // of a stage: the one that the best weights so far were judged with

  // Every number comes back bit for bit. from_json refuses what is no progress.
  nlohmann::json to_json() const;
  static Progress from_json(const nlohmann::json& json);

  // Of the loop's time, that in which the engine computed: steps and validation. What is left is what was
  // recorded, told, and taken for checkpoints meanwhile. 0: not known.
  double computing_share() const {
    return loop_seconds > 0 && loop_seconds >= seconds ? seconds / loop_seconds : 0;
  }
  // Of the loop's time as well, and part of the computing share: that in which steps waited for their rows.
  double waiting_share() const { return loop_seconds > 0 ? waiting_seconds / loop_seconds : 0; }
};

// How far an ensemble has come.
struct EnsembleStanding {
  std::size_t finished = 0;  // members
  std::size_t members = 0;
  std::int64_t epoch = 0;  // that the member told of last has finished; 0: none yet
};

// Who is told while a run trains, and who may stop it. The run folder and the terminal listen.
class TrainingListener {
 public:
  virtual ~TrainingListener() = default;
  virtual void epoch_finished(const EpochReport& report) = 0;
  // Before the first of them: how many there are to be, unless the training is stopped early.
  virtual void epochs_planned(std::int64_t) {}
  // About ten times a second: share of the whole training done, for a progress line.
  virtual void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) = 0;
  // Of an ensemble, in place of its members' epochs; before advanced(), whose steps are those of all members.
  virtual void ensemble_advanced(const EnsembleStanding&) {}
  // Every few seconds, of a training on a GPU whose driver tells; before advanced().
  virtual void gpu_seen(const GpuReading&) {}
  virtual void note(Severity severity, const std::string& message) = 0;
};

class NobodyListens : public TrainingListener {
 public:
  void epoch_finished(const EpochReport&) override {}
  void advanced(std::int64_t, std::int64_t, double) override {}
  void note(Severity, const std::string&) override {}
};

}  // namespace stoker
