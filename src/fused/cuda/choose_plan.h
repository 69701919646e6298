#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/engine.h"
#include "fused/cuda/gpu.h"
#include "fused/cuda/plan.h"

// How a request's network is laid over a GPU, and its batch spread.
namespace stoker::fused {

// One kernel trains a group: it has what any of its models has.
EngineRequest widest_of(std::span<const EngineRequest> group);

// How the request's network lies over a block, over the blocks of a team when its batch or its gradients ask
// for one, or over all multiprocessors when it is too large for those; or why it does not, in `why_not`.
std::optional<Plan> plan_for(const EngineRequest& request, const Gpu& gpu, std::string& why_not);

// The same for the kernels with fp32 operands, which share no batch among blocks.
std::optional<Plan> plain_plan_for(const EngineRequest& request, const Gpu& gpu, std::string& why_not);
// Which of them: tensor cores, by operands that are split in two, or the plain kernel, where the GPU or the
// network asks for it or the environment variable STOKER_FP32 is `plain`.
bool splits_operands(const Plan& plan, const Gpu& gpu);
// Whether a single such model trains at least as fast as with the graph engine.
bool is_fast_in_fp32(const EngineRequest& request, const Gpu& gpu);

// How a batch is spread: over `clusters` of Plan::team blocks, each of which makes `passes` of 32 rows.
struct Spread {
  int clusters = 1;
  int passes = 1;

  int blocks(const Plan& plan) const {
    if (plan.crowd.blocks > 0) return plan.crowd.blocks;
    return plan.team == 0 ? 1 : plan.team * clusters;
  }
  // Rows that a step has in the lists.
  int batch_places(const Plan& plan) const {
    return plan.crowd.blocks > 0 ? round_up(16 * plan.crowd.tiles, rows) : blocks(plan) * passes * rows;
  }
  // Sums of losses that the kernel keeps: one for each row of a block, which its passes share.
  int sums(const Plan& plan) const {
    return plan.crowd.blocks > 0 ? batch_places(plan) : blocks(plan) * rows;
  }
  // The one that a place of the batch adds to.
  std::int64_t sum_of(std::int64_t place) const { return place / (passes * rows) * rows + place % rows; }
  std::int64_t exchange_bytes(const Plan& plan) const;  // of device memory that blocks meet in
  // They must then all be running, and one model trains at a time.
  bool meets_in_memory(const Plan& plan) const { return clusters > 1 || plan.crowd.blocks > 0; }
};
// With as many clusters at a time as the GPU has room for.
Spread spread_of(const Plan& plan, int most_clusters, std::int64_t batch);
Spread plain_spread_of(std::int64_t batch);

}  // namespace stoker::fused
