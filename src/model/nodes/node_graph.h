#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/value.h"
#include "kernels/covariance.h"
#include "kernels/quadratic_scores.h"
#include "model/nodes/node.h"
#include "model/nodes/nodes.h"

namespace stoker {
class Trace;
}

// Nodes and how they are connected.
namespace stoker::nodes {

// What the cubes are that enter the graph; -1: any.
struct CubeShape {
  std::int64_t height = -1;
  std::int64_t width = -1;
  std::int64_t channels = -1;
  std::vector<double> wavelengths;  // none where nobody told
};

struct Link {
  std::size_t node = 0;  // in the graph's order
  std::string port;
};

struct GraphNode {
  std::string name;
  const NodeType* type = nullptr;
  config::Value settings;     // with every default written out
  std::vector<Stage> stages;  // in which it runs; none: in all that nodes of its kind run in
  std::shared_ptr<const Node> node;
  std::map<std::string, Link> sources;  // of its inputs
  Ports inputs;  // those that are connected, with the shapes that come; in the order of the type
  Ports outputs;

  bool runs_in(Stage stage) const;
};

struct NodeGraph {
  std::vector<GraphNode> nodes;  // each behind those that it reads from
  const GraphNode* find(std::string_view name) const;
};

// A document with `nodes` (name, class_name or type, hparams or settings) and `connections` (source, target),
// as cuvis.ai writes them. Every port is checked for type and shape.
NodeGraph read_node_graph(const config::Value& document, const CubeShape& cubes, const std::string& path,
                          config::Diagnostics& diagnostics);

using States = std::map<std::string, NamedArrays, std::less<>>;  // by node
using GraphValues = std::map<std::string, Values, std::less<>>;  // by node

// What comes out of every node that runs in this stage. `entering` are the values of the node where cubes
// enter.
// A trace is told what each node takes.
GraphValues run_forward(const NodeGraph& graph, const States& states, const Values& entering, Stage stage,
                        Trace* trace = nullptr);
// Of each loss among those values, by its node; and their sum.
std::map<std::string, double, std::less<>> losses_among(const NodeGraph& graph, const GraphValues& values);
double total_loss(const NodeGraph& graph, const GraphValues& values);
// How that sum changes with the arrays that can be trained, of the nodes that `is_trained` names.
States run_backward(const NodeGraph& graph, const States& states, const GraphValues& values,
                    const std::function<bool(std::string_view node)>& is_trained, Trace* trace = nullptr);

// Calls what it is given with the entering values of each batch, in the same order every time.
using CubeBatches = std::function<void(const std::function<void(const Values& entering)>&)>;

struct LearningOptions {
  kernels::BadPixels bad_pixels = kernels::BadPixels::refuse;
  std::uint64_t seed = 42;
  std::int64_t most_labelled = 200'000;  // pixels that a supervised selector looks at, evenly spread
  // Of all pixels that enter, where something finds them faster than a pass over the batches; it may answer
  // none.
  std::function<std::optional<kernels::Statistics>()> of_all_pixels = {};
  // Likewise of the scores of all pixels, by a detector with affine nodes before it: their matrix and shift
  // are set, the pixels are not.
  std::function<std::optional<kernels::Statistics>(const kernels::QuadraticScores& work)> of_all_scores = {};
};

struct Learned {
  States states;
  std::int64_t passes = 0;  // over all batches
};
// What every node begins with. One pass over the pixels is enough for all nodes behind a chain of affine
// ones; only where something else lies between is there another.
Learned learn_states(const NodeGraph& graph, const CubeBatches& batches, const LearningOptions& options);

}  // namespace stoker::nodes
