#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "data/cubes/cube_rows.h"
#include "fused/cpu/nodes/node_engine.h"
#include "fused/cuda/nodes/node_engine.h"
#include "kernels/quadratic_scores.h"
#include "model/nodes/fused_chain.h"
#include "model/nodes/node_network.h"

// Asked without a GPU too, of what one would do.
namespace stoker::fused::cubes {
namespace {

using stoker::nodes::IsTrained;
using stoker::nodes::NodeGraph;
using stoker::nodes::NodeNetwork;
using stoker::nodes::Stage;
using stoker::nodes::States;

std::string problem_of_stage(const NodeNetwork& network, const States& states, std::int64_t channels,
                             Stage stage) {
  const NodeGraph graph = part_with_losses(network.graph, stage);
  if (graph.nodes.empty()) return "";
  const IsTrained is_trained = [&](std::string_view node) { return network.is_trained(node); };
  const auto chain = find_fused_chain(graph, states, is_trained, stage);
  if (!chain) return stoker::nodes::no_gpu_for_graph;
  const Array& inverse = find_array(states.at(graph.nodes[chain->detector].name), "cov_inv");
  if (kernels::fits_quadratic_cuda(channels, inverse.dimension(0))) return "";
  return fmt::format("{} channels and {} scores of each pixel are more than its kernel has room for",
                     channels, inverse.dimension(0));
}

}  // namespace

std::string refusal(const EngineRequest& request) {
  if (std::string problem = fused_cpu::node_refusal(request); !problem.empty()) return problem;
  const NodeNetwork network = stoker::nodes::node_network(request.network);
  if (network.bad_pixels != kernels::BadPixels::refuse) return stoker::nodes::no_gpu_for_bad_pixels;
  if (request.training.find(masks_in_dataset) == nullptr) return stoker::nodes::no_gpu_for_graph;
  const std::int64_t channels = request.training.find(cubes_in_dataset)->row_shape().back();
  const States states = network.states(request.initial_parameters);
  std::string problem = problem_of_stage(network, states, channels, Stage::train);
  if (problem.empty() && request.validation.rows() > 0)
    problem = problem_of_stage(network, states, channels, Stage::val);
  return problem;
}

}  // namespace stoker::fused::cubes
