#include "fused/refusal.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/request_check.h"
#include "model/mlp.h"

namespace stoker::fused {

std::string common_refusal(const EngineRequest& request) {
  if (!mlp_shape(request.network))
    return fmt::format("it trains multi-layer perceptrons, not {}", request.network.family);
  if (request.losses.size() != 1) return "it trains with a single loss";
  if (request.loss().kind == Loss::output) return "it computes the loss itself";
  if (request.loss().weight != 1) return "it does not support a weighted loss";
  if (!request.unfrozen.empty()) return "it trains all parameters, but some are frozen";
  if (request.order.is_sharded()) return "it does not support shards";
  if (request.order.ranks != 1 || request.collective != nullptr) return "it trains in a single process";
  for (const DatasetArray& each : request.training.arrays)
    if (each.has_windows()) return "it does not read windows of a series";
  return request_problem(request);
}

}  // namespace stoker::fused
