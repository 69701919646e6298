#include "train/checkpoint/last_checkpoints.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/time/elapsed.h"
#include "base/time/trace.h"

namespace stoker {

void LastCheckpoints::write(const Checkpoints& checkpoints, Checkpoint last) {
  struct ToWrite {
    Checkpoints checkpoints;
    Checkpoint last;
  };
  const auto to_write = std::make_shared<ToWrite>(ToWrite{checkpoints, std::move(last)});
  const auto write_it = [to_write] {
    const Traced traced(TraceKind::background, "writing last checkpoints");
    to_write->checkpoints.write(to_write->last);
  };
  {
    const std::lock_guard lock(mutex_);
    const auto idle =
        std::ranges::find_if(writing_, [](const BackgroundWork& each) { return !each.is_under_way(); });
    if (idle != writing_.end()) return idle->begin(write_it);
  }
  write_it();
}

double LastCheckpoints::wait() {
  const Moment begin = now();
  const Traced traced(TraceKind::training, "waiting for last checkpoints");
  const std::lock_guard lock(mutex_);
  for (BackgroundWork& each : writing_) each.wait();
  return seconds_since(begin);
}

}  // namespace stoker
