#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "engine/engine.h"
#include "train/loop/plan.h"
#include "train/loop/progress.h"

namespace stoker {

// A loss or a weight is not finite. Exit code 1.
class Diverged : public Error {
 public:
  explicit Diverged(const std::string& message) : Error(ExitCode::run_failed, message) {}

  // What a family whose structure changes knows at the end of a training that uses its best weights: in a
  // stage, as it was when they were judged, because the next stage goes on from both. Empty: not known.
  StructureMemory structure;
};

bool all_finite(const NamedArrays& arrays);
// `epoch` counts from 0.
[[noreturn]] void fail_diverged(const TrainingPlan& plan, std::int64_t epoch, const std::string& what);
// Throws Diverged.
void fail_unless_finite(const NamedArrays& parameters, const TrainingPlan& plan, const Progress& progress);

}  // namespace stoker
