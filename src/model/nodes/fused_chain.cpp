#include "model/nodes/fused_chain.h"

#include <algorithm>

#include "base/error.h"
#include "device/workers.h"
#include "kernels/quadratic_scores.h"
#include "model/nodes/anomaly_bce.h"
#include "model/nodes/entering.h"
#include "model/nodes/pixels.h"
#include "model/nodes/score_matrix.h"

namespace stoker::nodes {
namespace {

// The node that an input reads from, where it has this type.
std::optional<std::size_t> source_of_type(const NodeGraph& graph, const GraphNode& node,
                                          const std::string& input, std::string_view type,
                                          std::string_view port) {
  const auto link = node.sources.find(input);
  if (link == node.sources.end() || link->second.port != port) return std::nullopt;
  if (graph.nodes[link->second.node].type->name != type) return std::nullopt;
  return link->second.node;
}

// Reads nothing of a pixel: arrays that nodes of the chain have.
bool is_beside_pixels(const FusedChain& chain, const GraphNode& node) {
  for (const Port& input : node.inputs) {
    const Link& link = node.sources.at(input.name);
    if (input.shape.size() >= 4 || std::ranges::find(chain.affine, link.node) == chain.affine.end())
      return false;
  }
  return true;
}

// What states decide.
bool can_run_so(const NodeGraph& graph, const FusedChain& chain, const IsTrained& is_trained,
                const States& states, Stage stage) {
  const bool is_training = stage == Stage::train;
  for (const std::size_t place : chain.affine) {
    const GraphNode& node = graph.nodes[place];
    const auto affine = node.node->affine(states.at(node.name));
    if (!affine) return false;
    if (is_training && is_trained(node.name) && !node.node->trainable().empty() &&
        !node.node->affine_gradient(states.at(node.name), *affine))
      return false;
  }
  return root_of_detector(states.at(graph.nodes[chain.detector].name)).has_value();
}

bool runs_so(const NodeGraph& graph, const FusedChain& chain, const IsTrained& is_trained, Stage stage) {
  for (const std::size_t place : chain.affine) {
    const GraphNode& node = graph.nodes[place];
    if (!node.runs_in(stage) || (stage == Stage::train && !node.node->is_affine_in_training())) return false;
  }
  const GraphNode& detector = graph.nodes[chain.detector];
  if (is_trained(detector.name) || !detector.runs_in(stage) || !graph.nodes[chain.logit].runs_in(stage))
    return false;
  return std::ranges::all_of(graph.nodes, [&](const GraphNode& node) {
    return !node.node->is_loss() || !node.runs_in(stage) || &node == &graph.nodes[chain.loss] ||
           is_beside_pixels(chain, node);
  });
}

void add_state(States& all, const std::string& node, const NamedArrays& more) {
  NamedArrays& to = all[node];
  for (const NamedArray& each : more) {
    const auto found = std::ranges::find(to, each.name, &NamedArray::name);
    if (found == to.end()) {
      to.push_back({each.name, each.array.clone()});
      continue;
    }
    const auto sums = found->array.as<float>();
    const auto from = each.array.as<float>();
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += from[i];
  }
}

void add(const kernels::QuadraticLoss& more, kernels::QuadraticLoss& sum) {
  sum.loss += more.loss;
  sum.of_scale += more.of_scale;
  sum.of_bias += more.of_bias;
  sum.of_matrix.resize(more.of_matrix.size());
  for (std::size_t i = 0; i < more.of_matrix.size(); ++i) sum.of_matrix[i] += more.of_matrix[i];
}

Values without_cubes(const Values& entering) {
  Values none = entering;
  for (const char* port : {"cube", "mask"}) {
    const Array& value = value_at(entering, port);
    Shape shape = value.shape();
    shape[0] = 0;
    none[port] = Array(value.type(), std::move(shape));
  }
  return none;
}

// Losses beside the pixels, from a batch without any.
FusedStep beside_pixels(const NodeGraph& graph, const States& states, const Values& none,
                        const IsTrained& is_trained, Stage stage) {
  const GraphValues values = run_forward(graph, states, none, stage);
  FusedStep step{total_loss(graph, values), {}, losses_among(graph, values)};
  if (stage == Stage::train) step.gradients = run_backward(graph, states, values, is_trained);
  return step;
}

}  // namespace

std::optional<FusedChain> chain_by_types(const NodeGraph& graph, const IsTrained& is_trained, Stage stage) {
  for (std::size_t place = 0; place < graph.nodes.size(); ++place) {
    const GraphNode& loss = graph.nodes[place];
    if (loss.type->name != "AnomalyBCEWithLogits" || !loss.runs_in(stage)) continue;
    FusedChain chain;
    chain.loss = place;
    const auto logit = source_of_type(graph, loss, "predictions", "ScoreToLogit", "logits");
    const auto data = source_of_type(graph, loss, "targets", "CubeDataNode", "mask");
    if (!logit || !data) return std::nullopt;
    const auto detector = source_of_type(graph, graph.nodes[*logit], "scores", "RXGlobal", "scores");
    if (!detector) return std::nullopt;
    chain.logit = *logit;
    chain.data = *data;
    chain.detector = *detector;
    const auto before = before_detector(graph, *detector);
    if (!before || before->data != *data) return std::nullopt;
    chain.affine = before->nodes;
    if (!runs_so(graph, chain, is_trained, stage)) return std::nullopt;
    return chain;
  }
  return std::nullopt;
}

std::optional<FusedChain> find_fused_chain(const NodeGraph& graph, const States& states,
                                           const IsTrained& is_trained, Stage stage) {
  const auto chain = chain_by_types(graph, is_trained, stage);
  return chain && can_run_so(graph, *chain, is_trained, states, stage) ? chain : std::nullopt;
}

FusedStep run_fused_chain(const NodeGraph& graph, const FusedChain& chain, const States& states,
                          std::span<const Values> parts, const IsTrained& is_trained, Stage stage) {
  std::vector<Values> entering;
  PixelsOfBatch pixels;
  for (const Values& part : parts) {
    entering.push_back(values_of_data(graph.nodes[chain.data], part, stage));
    pixels.rows += pixels_in(value_at(entering.back(), "cube"));
  }
  pixels.near = value_at(entering.front(), "cube").as<float>();
  pixels.none = without_cubes(parts.front());
  pixels.loss = [&](const kernels::QuadraticScores& work) {
    std::vector<kernels::QuadraticLoss> losses(entering.size());
    share_among_cores(std::ssize(entering), [&](std::int64_t number) {
      const Values& part = entering[static_cast<std::size_t>(number)];
      kernels::QuadraticScores own = work;
      own.pixels = value_at(part, "cube").as<float>().data();
      own.marks = value_at(part, "mask").as<std::uint8_t>().data();
      own.rows = pixels_in(value_at(part, "cube"));
      losses[static_cast<std::size_t>(number)] = kernels::quadratic_loss(own);
    });
    kernels::QuadraticLoss found;
    for (const kernels::QuadraticLoss& each : losses) add(each, found);
    return found;
  };
  return run_fused_chain(graph, chain, states, pixels, is_trained, stage);
}

FusedStep run_fused_chain(const NodeGraph& graph, const FusedChain& chain, const States& states,
                          const PixelsOfBatch& pixels, const IsTrained& is_trained, Stage stage) {
  const std::int64_t columns = channels_in(value_at(pixels.none, "cube"));
  FusedStep step = beside_pixels(graph, states, pixels.none, is_trained, stage);
  if (pixels.rows == 0) return step;
  const auto state_of_node = [&](std::size_t place) -> const NamedArrays& {
    return states.at(graph.nodes[place].name);
  };

  // What stands before and behind each node of the chain.
  std::vector<Homogeneous> matrices;
  for (const std::size_t place : chain.affine)
    matrices.push_back(homogeneous(graph.nodes[place].node->affine(state_of_node(place)).value()));
  // Of many channels the first is large, and nothing stands before it.
  std::vector<Homogeneous> before(1);
  for (const Homogeneous& matrix : matrices)
    before.push_back(before.size() == 1 ? matrix : Homogeneous(matrix * before.back()));
  const Homogeneous root = root_of_detector(state_of_node(chain.detector)).value();
  const Homogeneous whole = matrices.empty() ? root : Homogeneous(root * before.back());

  const Homogeneous shifting = shifting_by(pixels.near.first(static_cast<std::size_t>(columns)));
  const PixelMatrix matrix = (whole * shifting).transpose().cast<float>();

  const auto bce = settings_from<BceSettings>(graph.nodes[chain.loss].settings);
  kernels::QuadraticScores work;
  work.columns = columns;
  work.shift = pixels.near.data();
  work.matrix = matrix.data();
  work.outputs = matrix.cols();
  work.scale = number_in(find_array(state_of_node(chain.logit), "scale"));
  work.bias = number_in(find_array(state_of_node(chain.logit), "bias"));
  work.pos_weight = bce.pos_weight.value_or(1.0);
  work.with_gradients = stage == Stage::train;
  const kernels::QuadraticLoss found = pixels.loss(work);

  const double factor =
      bce.weight / (bce.reduction == Reduction::mean ? static_cast<double>(pixels.rows) : 1);
  step.loss += factor * found.loss;
  step.losses[graph.nodes[chain.loss].name] = factor * found.loss;
  if (stage != Stage::train) return step;
  if (is_trained(graph.nodes[chain.logit].name))
    add_state(step.gradients, graph.nodes[chain.logit].name,
              {{"scale", one_number(factor * found.of_scale)}, {"bias", one_number(factor * found.of_bias)}});

  const Eigen::Map<const Homogeneous> of_shifted(found.of_matrix.data(), columns + 1, work.outputs);
  const Homogeneous of_whole = factor * of_shifted.transpose() * shifting.transpose();
  Homogeneous behind = root;
  for (std::size_t i = matrices.size(); i-- > 0;) {
    const GraphNode& node = graph.nodes[chain.affine[i]];
    const Homogeneous behind_it = behind;
    if (i > 0) behind = Homogeneous(behind * matrices[i]);
    if (!is_trained(node.name) || node.node->trainable().empty()) continue;
    Homogeneous changes = behind_it.transpose() * of_whole;
    if (i > 0) changes = Homogeneous(changes * before[i].transpose());
    Affine affine{matrices[i].cols() - 1, matrices[i].rows() - 1, {}, {}};
    for (std::int64_t output = 0; output < affine.outputs; ++output) {
      for (std::int64_t input = 0; input < affine.inputs; ++input)
        affine.matrix.push_back(changes(output, input));
      affine.offset.push_back(changes(output, affine.inputs));
    }
    add_state(step.gradients, node.name, node.node->affine_gradient(states.at(node.name), affine).value());
  }
  return step;
}

}  // namespace stoker::nodes
