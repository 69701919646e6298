#pragma once

#include <optional>

#include "model/nodes/node_graph.h"

// Training of a chain of affine nodes with RX, a logit and cross-entropy behind it, in one pass over the
// pixels of a batch: the chain and the root of RX's matrix are one matrix, whose gradient tells those of all
// nodes.
namespace stoker::nodes {

// Places in the graph.
struct FusedChain {
  std::size_t data = 0;
  std::vector<std::size_t> affine;  // from the data on
  std::size_t detector = 0;
  std::size_t logit = 0;
  std::size_t loss = 0;
};

using IsTrained = std::function<bool(std::string_view node)>;

// None where the graph is another, or asks for more: a detector that is trained, other losses over pixels.
std::optional<FusedChain> find_fused_chain(const NodeGraph& graph, const States& states,
                                           const IsTrained& is_trained);

struct FusedStep {
  double loss = 0;                                         // of all losses
  States gradients;                                        // as run_backward() gives them
  std::map<std::string, double, std::less<>> losses = {};  // of each loss, by its node
};
// What run_forward(), total_loss() and run_backward() give for a training batch, within rounding.
// The batch may come in parts, each with some of its cubes.
FusedStep run_fused_chain(const NodeGraph& graph, const FusedChain& chain, const States& states,
                          std::span<const Values> parts, const IsTrained& is_trained);
inline FusedStep run_fused_chain(const NodeGraph& graph, const FusedChain& chain, const States& states,
                                 const Values& entering, const IsTrained& is_trained) {
  return run_fused_chain(graph, chain, states, std::span(&entering, 1), is_trained);
}

}  // namespace stoker::nodes
