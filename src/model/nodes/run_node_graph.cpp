#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/time/trace.h"
#include "model/nodes/entering.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

const NamedArrays& state_of(const States& states, const GraphNode& node) {
  static const NamedArrays none;
  const auto found = states.find(node.name);
  return found == states.end() ? none : found->second;
}

// Empty where a source did not run.
std::optional<Values> inputs_of(const NodeGraph& graph, const GraphNode& node, const GraphValues& values) {
  Values inputs;
  for (const auto& [port, link] : node.sources) {
    const auto source = values.find(graph.nodes[link.node].name);
    const Array* found = source == values.end() ? nullptr : value_if(source->second, link.port);
    if (found != nullptr)
      inputs[port] = *found;
    else if (!find_port(node.node->inputs(), port)->is_optional)
      return std::nullopt;
  }
  return inputs;
}

void add_to(Array& sum, const Array& more) {
  const auto to = sum.as<float>();
  const auto from = more.as<float>();
  if (to.size() != from.size()) fail("gradients of one port have {} and {} numbers", to.size(), from.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

void add_gradient(GraphValues& gradients, const std::string& node, const std::string& port,
                  const Array& more) {
  Values& of_node = gradients[node];
  if (const auto found = of_node.find(port); found != of_node.end())
    add_to(found->second, more);
  else
    of_node[port] = more.clone();
}

// Nodes with something to train before them, or in them: others need no gradient.
std::vector<bool> nodes_on_the_way(const NodeGraph& graph,
                                   const std::function<bool(std::string_view)>& is_trained) {
  std::vector<bool> found;
  for (const GraphNode& node : graph.nodes) {
    bool is_there = is_trained(node.name) && !node.node->trainable().empty();
    for (const auto& [port, link] : node.sources) is_there = is_there || found[link.node];
    found.push_back(is_there);
  }
  return found;
}

template <class Work>
auto traced_as(Trace* trace, const std::string& node, const char* way, const Work& work) {
  if (trace == nullptr) return work();
  const Moment begin = now();
  auto result = work();
  trace->add(TraceKind::step, fmt::format("{} {}", node, way), begin, seconds_since(begin));
  return result;
}

}  // namespace

bool GraphNode::runs_in(Stage stage) const {
  if (!stages.empty()) return std::ranges::find(stages, stage) != stages.end();
  if (type->kind == NodeKind::loss) return stage != Stage::inference;
  if (type->kind == NodeKind::metric) return stage == Stage::val || stage == Stage::test;
  return true;
}

const GraphNode* NodeGraph::find(std::string_view name) const {
  const auto found = std::ranges::find(nodes, name, &GraphNode::name);
  return found == nodes.end() ? nullptr : &*found;
}

GraphValues run_forward(const NodeGraph& graph, const States& states, const Values& entering, Stage stage,
                        Trace* trace) {
  GraphValues values;
  for (const GraphNode& node : graph.nodes) {
    if (node.type->kind == NodeKind::data) {
      values[node.name] = values_of_data(node, entering, stage);
      continue;
    }
    if (!node.runs_in(stage)) continue;
    if (const auto inputs = inputs_of(graph, node, values))
      values[node.name] = traced_as(trace, node.name, "forward", [&] {
        return node.node->forward({*inputs, state_of(states, node), stage});
      });
  }
  return values;
}

std::map<std::string, double, std::less<>> losses_among(const NodeGraph& graph, const GraphValues& values) {
  std::map<std::string, double, std::less<>> losses;
  for (const GraphNode& node : graph.nodes)
    if (const auto found = values.find(node.name); node.node->is_loss() && found != values.end())
      losses[node.name] = number_in(value_at(found->second, "loss"));
  return losses;
}

double total_loss(const NodeGraph& graph, const GraphValues& values) {
  double sum = 0;
  for (const auto& [node, loss] : losses_among(graph, values)) sum += loss;
  return sum;
}

States run_backward(const NodeGraph& graph, const States& states, const GraphValues& values,
                    const std::function<bool(std::string_view)>& is_trained, Trace* trace) {
  const std::vector<bool> on_the_way = nodes_on_the_way(graph, is_trained);
  GraphValues gradients;
  States found;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const GraphNode& node = graph.nodes[i];
    if (!on_the_way[i] || !values.contains(node.name)) continue;
    if (node.node->is_loss()) gradients[node.name]["loss"] = one_number(1);
    const auto of_outputs = gradients.find(node.name);
    if (of_outputs == gradients.end()) continue;
    const Values inputs = inputs_of(graph, node, values).value();
    const bool goes_further =
        std::ranges::any_of(node.sources, [&](const auto& source) { return on_the_way[source.second.node]; });
    const Gradients back = traced_as(trace, node.name, "backward", [&] {
      return node.node->backward(
          {inputs, state_of(states, node), values.at(node.name), of_outputs->second, goes_further});
    });
    for (const auto& [port, gradient] : back.inputs) {
      const auto link = node.sources.find(port);
      if (link != node.sources.end() && on_the_way[link->second.node])
        add_gradient(gradients, graph.nodes[link->second.node].name, link->second.port, gradient);
    }
    if (is_trained(node.name) && !back.state.empty()) found[node.name] = back.state;
  }
  return found;
}

}  // namespace stoker::nodes
