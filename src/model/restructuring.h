#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/placement/dataset.h"
#include "device/array.h"
#include "model/network.h"

// Families whose structure changes while they train.
namespace stoker {

// What such a family is shown between two steps.
struct StructureMoment {
  const Network& network;
  std::int64_t step = 0;  // steps that were taken
  std::uint64_t seed = 0;
  const Dataset& remembered;  // some rows of those that were trained on, on the host
};

// What was changed, and why.
struct StructureEvent {
  std::int64_t step = 0;
  std::string kind;  // "born", "merged", "removed", "slept"; in stages "rested", "woken", "crowded"
  std::string text;  // for people
};

// A state that stays where an engine has it (engine/edits_in_place.h). What can be asked of it and done to it
// is the family's matter, see expert_state.h.
class StructureHandle {
 public:
  virtual ~StructureHandle() = default;
};

// What it is shown where the classes arrive in stages, before the first step of a stage and after the last.
struct StageMoment {
  const Network& network;
  std::size_t stage = 0;   // from 0
  std::int64_t steps = 0;  // that were taken in all stages so far
  std::uint64_t seed = 0;
  bool replays = false;  // rows of earlier stages are trained on again in this one
  const Dataset& rows;   // some of those of the stage, on the host
};

// The memory is what the family knows of its own life: part of the progress, and so of every checkpoint. An
// edit depends on nothing else but the moment and the state. Steps of a StructureMoment are those of its
// stage.
struct Restructuring {
  // Why what it may grow to does not fit into so many bytes, whatever it begins with; or "".
  std::string (*room_problem)(const Network& network, std::uint64_t bytes) = nullptr;
  nlohmann::json (*begin)(const Network& network) = nullptr;
  // Refuses a memory that is none of this network's.
  void (*check)(const Network& network, const nlohmann::json& memory) = nullptr;
  // Steps after which it wants to look at the state; never: the largest number.
  std::int64_t (*next_step)(const Network& network, const nlohmann::json& memory) = nullptr;
  std::int64_t (*remembered_rows)(const Network& network) = nullptr;
  // Between stages. What the family keeps from one to the next are arrays, `kept`; `before` are the
  // parameters that the stage began with.
  std::vector<StructureEvent> (*begin_stage)(const StageMoment& moment, NamedArrays& parameters,
                                             nlohmann::json& memory) = nullptr;
  std::vector<StructureEvent> (*end_stage)(const StageMoment& moment, const NamedArrays& before,
                                           NamedArrays& parameters, NamedArrays& kept,
                                           nlohmann::json& memory) = nullptr;
  // Parameters that the stage that has begun must not change.
  std::vector<std::string> (*frozen_in_stage)(const Network& network, const nlohmann::json& memory) = nullptr;
  // Edits the state of an engine, as StructurePhase does, and the memory.
  std::vector<StructureEvent> (*edit)(const StructureMoment& moment, NamedArrays& state,
                                      nlohmann::json& memory) = nullptr;
  // The same of a state that is not brought to the host.
  std::vector<StructureEvent> (*edit_in_place)(const StructureMoment& moment, StructureHandle& state,
                                               nlohmann::json& memory) = nullptr;
  // Records the structure at the end of an epoch in the memory, for pictures, from the parameters. Null:
  // nothing is recorded.
  void (*observe)(const StructureMoment& moment, const NamedArrays& parameters,
                  nlohmann::json& memory) = nullptr;
  void (*observe_in_place)(const StructureMoment& moment, StructureHandle& state,
                           nlohmann::json& memory) = nullptr;
  // Epochs from one record to the next; grows, so that the number of records is bounded.
  std::int64_t (*epochs_between_records)(const nlohmann::json& memory) = nullptr;
};

}  // namespace stoker
