#pragma once

#include <optional>

#include "base/time/elapsed.h"
#include "engine/engine.h"
#include "train/loop/progress.h"

namespace stoker {

// Where a training stood when all was well, for one that has to go back: numbers were not finite, or memory
// ran out in the middle of a step.
class LastGood {
 public:
  // Before a chunk. Kept in the host's memory, as often as it costs less than a fiftieth of the time.
  void keep(const Engine& engine, const Progress& progress);

  bool is_kept() const { return kept_.has_value(); }
  // No step was taken, by an engine that can start over: memory did not suffice to keep the state before the
  // first chunk.
  bool is_before_first_chunk() const { return is_before_first_chunk_; }
  const Progress& progress() const { return kept_->progress; }
  const NamedArrays& state() const { return kept_->state; }

 private:
  struct Kept {
    Progress progress;
    NamedArrays state;
  };
  std::optional<Kept> kept_;
  Moment kept_at_;
  double cost_ = 0;
  bool is_before_first_chunk_ = true;
};

}  // namespace stoker
