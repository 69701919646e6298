#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/notes.h"
#include "train/loop/engines.h"
#include "train/loop/plan.h"

namespace stoker {

// Batches that were chosen for many networks (batch_size auto): one for all of a shape, so that the members
// of an ensemble and the candidates of a sweep that differ in other settings train alike. A file beside the
// checkpoints keeps them, and a later sitting goes on with them. For many threads, one of which chooses at a
// time.
class ChosenBatches {
 public:
  // In the folder of the checkpoints; with an empty name nothing is kept.
  ChosenBatches(const std::filesystem::path& folder, bool goes_on);

  // Settles the batch of a request whose data is placed. Tells what was chosen.
  void settle(EngineChoice engine, const Notes& notes, EngineRequest& request, TrainingPlan& plan);

 private:
  std::int64_t rows_for(const std::string& shape, const std::function<std::int64_t()>& choose);

  std::filesystem::path file_;
  std::map<std::string, std::int64_t> rows_;
  std::mutex mutex_;
};

}  // namespace stoker
