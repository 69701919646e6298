#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/stop.h"
#include "engine/engine.h"
#include "engine/fused_cuda/plan.h"

// Which training kernel a request takes: one that the program brings, or one compiled for its shape.
namespace stoker::fused {

// One kernel trains a group: it has what any of its models has.
EngineRequest widest_of(std::span<const EngineRequest> group);

// How the request's network lies over a block, over the blocks of a team when its batch or its gradients ask
// for one, or over all multiprocessors when it is too large for those; or why it does not, in `why_not`.
std::optional<Plan> plan_for(const EngineRequest& request, std::string& why_not);

// The same for the plain kernel, which has no fp16 operands and shares no batch among blocks.
std::optional<Plan> plain_plan_for(const EngineRequest& request, std::string& why_not);

// How a batch is spread: over `clusters` of Plan::team blocks, each of which makes `passes` of 32 rows.
struct Spread {
  int clusters = 1;
  int passes = 1;

  int blocks(const Plan& plan) const {
    if (plan.crowd.blocks > 0) return plan.crowd.blocks;
    return plan.team == 0 ? 1 : plan.team * clusters;
  }
  // Rows that a step has in the lists, and the same number of sums of losses.
  int batch_places(const Plan& plan) const {
    return plan.crowd.blocks > 0 ? round_up(16 * plan.crowd.tiles, rows) : blocks(plan) * passes * rows;
  }
  std::int64_t exchange_bytes(const Plan& plan) const;  // of device memory that blocks meet in
  // They must then all be running, and one model trains at a time.
  bool meets_in_memory(const Plan& plan) const { return clusters > 1 || plan.crowd.blocks > 0; }
};
Spread spread_of(const Plan& plan, const void* kernel, std::int64_t batch);

struct TrainKernel {
  const void* function = nullptr;  // void(Models), launched with Plan::shared_bytes()
};

// The kernel for a plan on a device, ready to launch. Compiled with NVRTC when it is not built in and kept on
// disk for the next time. Without NVRTC: nothing, and the reason.
// One that is being compiled ahead is waited for.
std::optional<TrainKernel> kernel_for(const Plan& plan, Device device, std::string& why_not);

// Compiles it for a kernel_for() to come, unless it is built in or kept on disk. Gives up when `stop` is set.
void compile_ahead(const Plan& plan, Device device, const StopSignal& stop);

}  // namespace stoker::fused
