#include "fused/refusal.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "fused/cpu/experts/expert_engine.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "fused/cpu/nodes/node_engine.h"
#include "fused/cpu/sets/set_engine.h"

namespace stoker::fused_cpu {
namespace {

constexpr std::size_t most_hidden_layers = 8;
constexpr std::int64_t most_width = 4096;

std::string shape_problem(const MlpShape& shape) {
  const std::size_t depth = shape.hidden_layers.size();
  if (depth < 1 || depth > most_hidden_layers)
    return fmt::format("it trains networks of 1 to {} hidden layers, not {}", most_hidden_layers, depth);
  for (std::size_t i = 0; i < shape.layer_count(); ++i) {
    const std::int64_t widest = std::max(shape.layer_inputs(i), shape.layer_outputs(i));
    if (shape.layer_inputs(i) < 1 || shape.layer_outputs(i) < 1 || widest > most_width)
      return fmt::format("it trains layers of 1 to {} inputs and outputs; layer {} has {} and {}", most_width,
                         i, shape.layer_inputs(i), shape.layer_outputs(i));
  }
  if (!(shape.dropout >= 0 && shape.dropout < 1))
    return fmt::format("dropout is {}; it must be at least 0 and below 1", shape.dropout);
  return "";
}

// Stages of a training freeze what this engine can leave as it is.
std::string experts_problem(EngineRequest request, const ExpertShape& shape) {
  if (trains_all_but_inner_router(request)) request.unfrozen.clear();
  return fused::refusal_of_experts(request, shape);
}

}  // namespace

std::string refusal(const EngineRequest& request) {
  if (request.device.is_cuda()) return "it trains on a CPU";
  if (request.precision != Precision::automatic && request.precision != Precision::fp32)
    return fmt::format("it computes in fp32, not in {}", config::name_of(request.precision));
  if (nodes::is_node_network(request.network)) return node_refusal(request);
  if (const std::optional<TriangulationShape> sets = triangulation_shape(request.network)) {
    const std::string problem = fused::refusal_of_any(request);
    return problem.empty() ? set_refusal(request, *sets) : problem;
  }
  if (const std::optional<ExpertShape> experts = expert_shape(request.network))
    return experts_problem(request, *experts);
  const std::string problem = fused::refusal_of_both(request);
  return problem.empty() ? shape_problem(mlp_shape(request.network).value()) : problem;
}

}  // namespace stoker::fused_cpu
