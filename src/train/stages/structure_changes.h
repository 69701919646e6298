#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "train/loop/progress.h"

namespace stoker {

struct Restructuring;

// Of a family whose structure changes while it trains: when it wants to look at the state, and what it does
// to it. Rows that it remembers are some of the first epoch's, evenly spread over it; of an epoch that is
// under way, those that it has seen.
class StructureChanges {
 public:
  // The request must live as long. A progress that has just begun gets the memory that the family begins
  // with; refuses one of another network.
  StructureChanges(const EngineRequest& request, Progress& progress);

  std::int64_t steps_until_next(const Progress& progress) const;  // at least 1
  // Changes the engine's state where that is due, and tells what was changed.
  void after_chunk(Engine& engine, Progress& progress, TrainingListener& listener);

 private:
  Dataset remembered(std::int64_t steps);
  std::int64_t next_step(const Progress& progress) const;
  // Steps from one record of the structure to the next, at ends of epochs; 0: none is kept.
  std::int64_t steps_between_records(const Progress& progress) const;
  void change(Engine& engine, Progress& progress, TrainingListener& listener);
  void observe(Engine& engine, Progress& progress) const;

  const EngineRequest* request_;
  const Restructuring* family_;
  std::vector<std::int64_t> positions_;  // in the first epoch, rising
  Dataset rows_;                         // at these positions, on the host; made when they are needed
};

}  // namespace stoker
