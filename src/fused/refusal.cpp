#include "fused/refusal.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/request_check.h"
#include "model/network/mlp.h"

namespace stoker::fused {
namespace {

constexpr std::size_t most_hidden_layers_of_expert = 8;
constexpr std::int64_t most_expert_width = 4096;

std::string expert_problem(const EngineRequest& request, const ExpertShape& shape) {
  const std::vector<std::int64_t>& hidden = shape.settings.hidden_layers;
  if (hidden.size() > most_hidden_layers_of_expert)
    return fmt::format("it trains experts of 1 to {} hidden layers, not {}", most_hidden_layers_of_expert,
                       hidden.size());
  std::int64_t widest = std::max(shape.inputs, shape.outputs);
  for (const std::int64_t each : hidden) widest = std::max(widest, each);
  if (widest > most_expert_width)
    return fmt::format("it trains experts of layers of 1 to {} inputs and outputs, not {}", most_expert_width,
                       widest);
  if (request.loss().kind == Loss::gaussian) return "it does not have the gaussian loss";
  if (request.network.inputs.front().type != DType::float32) return "it reads one row of 32-bit floats";
  return "";
}

bool has_windows(const Dataset& dataset) {
  return std::ranges::any_of(dataset.arrays, &DatasetArray::has_windows);
}

// The engines of multi-layer perceptrons read the first array of a role, where it lies, whatever its name.
std::string reading_problem(const EngineRequest& request, const Dataset& dataset) {
  const auto is_first = [&](const std::string& name, Role role) {
    return &dataset.find(name)->array == dataset.find(role);
  };
  const std::vector<ArraySpec>& inputs = request.network.inputs;
  if (inputs.size() == 1 && !is_first(inputs.front().name, Role::features))
    return "it reads one array of features";
  if (!is_first(request.loss().targets, Role::targets)) return "it reads one array of targets";
  return "";
}

}  // namespace

std::string refusal_of_any(const EngineRequest& request) {
  if (request.losses.size() != 1) return "it trains with a single loss";
  if (request.loss().kind == Loss::output) return "it computes the loss itself";
  if (request.loss().weight != 1) return "it does not support a weighted loss";
  if (request.optimizer.kind == Optimizer::lion) return "it does not have the optimizer lion";
  if (request.weight_average > 0) return "it keeps no moving average of weights";
  if (!request.unfrozen.empty()) return "it trains all parameters, but some are frozen";
  if (request.first_update != 0) return "its optimiser begins with the first step";
  if (request.order.is_sharded() && (request.device.is_cuda() || request.window_slots > 0))
    return "it reads all rows where they lie, and not through a window";
  if (request.order.ranks != 1 || request.collective != nullptr) return "it trains in a single process";
  if (width_of(request.loss(), request.network) != request.network.outputs)
    return "it compares all outputs with the targets";
  std::string problem = request_problem(request);
  if (problem.empty() && (has_windows(request.training) || has_windows(request.validation)))
    problem = "it does not read windows of a series";
  return problem;
}

std::string refusal_of_both(const EngineRequest& request) {
  const std::optional<MlpShape> shape = mlp_shape(request.network);
  if (!shape) return fmt::format("it trains multi-layer perceptrons, not {}", request.network.family);
  if (request.losses.size() == 1 && request.loss().kind == Loss::gaussian)
    return "it does not have the gaussian loss";
  const std::vector<ArraySpec>& inputs = request.network.inputs;
  const auto is_row = [](const ArraySpec& input) {
    const DType type = input.sizes.empty() ? DType::float32 : DType::int64;
    return input.type == type && input.shape.size() == 1;
  };
  if (!std::ranges::all_of(inputs, is_row) || (shape->entrance.is_plain() && inputs.size() != 1))
    return "it reads one row of 32-bit floats";
  std::string problem = refusal_of_any(request);
  if (problem.empty()) problem = reading_problem(request, request.training);
  if (problem.empty() && request.validation.rows() > 0)
    problem = reading_problem(request, request.validation);
  return problem;
}

// The losses that a mixture of experts has of its own are the engine's work; the one of the task is asked for
// as another network's.
std::string refusal_of_experts(const EngineRequest& request, const ExpertShape& shape) {
  if (std::string problem = request_problem(request); !problem.empty()) return problem;
  EngineRequest of_task = request;
  of_task.losses = {request.loss()};
  of_task.network.outputs = shape.outputs;
  // Otherwise the outputs of these losses would be subtracted once more.
  of_task.network.settings.set("load_balance", config::Value(0.0));
  of_task.network.settings.set("router_z", config::Value(0.0));
  std::string problem = refusal_of_any(of_task);
  return problem.empty() ? expert_problem(request, shape) : problem;
}

}  // namespace stoker::fused
