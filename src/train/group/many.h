#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/process/stop.h"
#include "config/field.h"
#include "engine/engine.h"
#include "train/checkpoint/checkpoints.h"
#include "train/loop/loop.h"
#include "train/loop/metric_stopping.h"

// Many networks at once: side by side on one device where its engine can, else a thread each.
namespace stoker {

struct Member {
  EngineRequest request;  // data placed
  TrainingPlan plan;
  std::filesystem::path checkpoints;  // what is there is gone on from; empty: none are kept
  Identity identity;                  // of the request, taken before its data was placed
  std::optional<MetricStopping> stopping = std::nullopt;  // such a one trains on an engine of its own
  TrainingListener* listener = nullptr;                   // null: nobody is told
};

enum class MemberEnd { finished, time_limit, diverged, failed };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::MemberEnd>{
    "finished", "time_limit", "diverged", "failed"};

namespace stoker {

// What became of one. finished: at the end of its plan, at its pause, or stopped early, also because it
// diverged after validation had judged an epoch. diverged: no epoch was judged before. failed: by its own
// fault; that of the machine is thrown.
struct MemberResult {
  MemberEnd end = MemberEnd::finished;
  std::string reason;                    // of diverged and failed, and of one that uses its best weights
  ExitCode code = ExitCode::run_failed;  // of failed: whether the request was wrong
  Progress progress;
  NamedArrays parameters;
  std::string engine;
  Precision precision = Precision::fp32;
  MemoryUse memory;
};

// Trains one on an engine of its own. What goes wrong with it is in the result. Thrown are an interruption,
// after a checkpoint was written, and errors that the machine causes.
MemberResult train_member(const Member& member, EngineChoice engine, const StopSignal& stop);

// Members that may form a group: one device, layers, loss and batch size.
std::string group_key(const EngineRequest& request);
// Is told of each member when it has ended, whatever becomes of the others.
using MemberEnded = std::function<void(std::size_t member, MemberResult result)>;
// Trains all side by side, each with its own schedule and time limit; those that end early rest. The maker
// has make_group. A group that does not fit the device is halved. Throws what train_member() throws.
void train_group(std::span<const Member> members, const EngineMaker& maker, const StopSignal& stop,
                 const MemberEnded& ended);

}  // namespace stoker
