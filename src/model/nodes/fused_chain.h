#pragma once

#include <functional>
#include <optional>
#include <span>

#include "kernels/quadratic_scores.h"
#include "model/nodes/node_graph.h"

// A chain of affine nodes with RX, a logit and cross-entropy behind it, trained or measured in
// one pass over the pixels of a batch: the chain and the root of RX's matrix are one matrix, whose gradient
// tells those of all nodes.
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

// Why there are no kernels for other graphs, and nothing on a GPU for a training without some of the pixels.
constexpr const char* no_gpu_for_graph =
    "the kernels for GPUs are for chains of affine nodes that end in RXGlobal, ScoreToLogit and "
    "AnomalyBCEWithLogits over cubes with masks, with no other losses over pixels";
constexpr const char* no_gpu_for_bad_pixels = "bad pixels are left out only on a CPU";

// None where the graph is another, or asks for more: a detector that is trained, other losses over pixels. By
// the types of nodes alone, and by what they have learnt as well.
std::optional<FusedChain> chain_by_types(const NodeGraph& graph, const IsTrained& is_trained, Stage stage);
std::optional<FusedChain> find_fused_chain(const NodeGraph& graph, const States& states,
                                           const IsTrained& is_trained, Stage stage = Stage::train);

struct FusedStep {
  double loss = 0;                                         // of all losses
  States gradients;                                        // as run_backward() gives them
  std::map<std::string, double, std::less<>> losses = {};  // of each loss, by its node
};

// The pixels of a batch, wherever they lie.
struct PixelsOfBatch {
  std::int64_t rows = 0;
  std::span<const float> near;  // a pixel that the others are measured from
  Values none;                  // what enters the graph, without any cube
  // Of the work with all that is not a pixel's: its pixels, marks and rows are not set.
  std::function<kernels::QuadraticLoss(const kernels::QuadraticScores& work)> loss;
};

// What run_forward() and total_loss() give for a batch, and run_backward() in training, within rounding. The
// chain must be of this stage.
FusedStep run_fused_chain(const NodeGraph& graph, const FusedChain& chain, const States& states,
                          const PixelsOfBatch& pixels, const IsTrained& is_trained, Stage stage);
// The batch may come in parts, each with some of its cubes.
FusedStep run_fused_chain(const NodeGraph& graph, const FusedChain& chain, const States& states,
                          std::span<const Values> parts, const IsTrained& is_trained,
                          Stage stage = Stage::train);
inline FusedStep run_fused_chain(const NodeGraph& graph, const FusedChain& chain, const States& states,
                                 const Values& entering, const IsTrained& is_trained,
                                 Stage stage = Stage::train) {
  return run_fused_chain(graph, chain, states, std::span(&entering, 1), is_trained, stage);
}

}  // namespace stoker::nodes
