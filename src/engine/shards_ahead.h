#pragma once

#include <cstdint>
#include <optional>

#include "engine/shard_turns.h"

namespace stoker {

// Training rows that lie in a file and are read on a CPU shard by shard. A shard is brought into memory
// before the first step that reads it, in order, while the one behind it is asked for; one that no step reads
// any more makes room. Of rows that lie in memory it knows nothing, and costs a comparison.
class ShardsAhead {
 public:
  // The rows of the request must outlive it.
  explicit ShardsAhead(const EngineRequest& request);

  // Before steps from `step` on. Returns how many of them, at most so many, read only what is there then.
  std::int64_t before(std::int64_t step, std::int64_t most) { return turns_ ? bring(step, most) : most; }
  // Seconds that steps waited for their rows since this was last asked.
  double take_waiting();

 private:
  std::int64_t bring(std::int64_t step, std::int64_t most);
  void advise(std::int64_t turn, int advice) const;
  void read(std::int64_t turn) const;

  Dataset rows_;
  std::optional<ShardTurns> turns_;  // none where there is nothing to bring
  Turns here_{0, -1};
  double waiting_ = 0;
};

}  // namespace stoker
