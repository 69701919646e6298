#include "torch/modules/node_graph.h"

#include <array>
#include <map>
#include <optional>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "data/cubes/cube_rows.h"
#include "model/nodes/node_network.h"
#include "torch/modules/layers.h"
#include "torch/nodes/node_form.h"

namespace stoker::torch_door {
namespace {

using nodes::GraphNode;
using nodes::NodeGraph;
using nodes::NodeNetwork;
using nodes::Stage;

constexpr std::array training_stages{Stage::train, Stage::val};

std::string problem_of_forms(const NodeGraph& graph) {
  for (const GraphNode& node : graph.nodes)
    if (node.type->kind != nodes::NodeKind::data && find_form(node.type->name) == nullptr)
      return fmt::format("it cannot compute {} (the node {})", node.type->name, node.name);
  return "";
}

// From the losses to what is trained.
std::string problem_of_way_back(const NodeNetwork& network, const NodeGraph& graph) {
  std::vector<bool> depends;  // on something that is trained, by node
  bool reaches_loss = false;
  for (const GraphNode& node : graph.nodes) {
    bool is_behind = false;
    for (const auto& [port, link] : node.sources) is_behind = is_behind || depends[link.node];
    const NodeForm* form = find_form(node.type->name);
    if (is_behind && form != nullptr && !form->has_way_back)
      return fmt::format("nothing before {} can be trained: {} has no gradient", node.name, node.type->name);
    depends.push_back(is_behind || (network.is_trained(node.name) && !node.node->trainable().empty()));
    reaches_loss = reaches_loss || (node.node->is_loss() && depends.back());
  }
  return reaches_loss ? "" : "no loss of the training depends on what is unfrozen";
}

class NodeGraphModule : public Module {
 public:
  NodeGraphModule(const Network& network, const Parameters& parameters)
      : network_(nodes::node_network(network)), outputs_(network.outputs) {
    for (std::size_t i = 0; i < training_stages.size(); ++i)
      parts_[i] = part_of(nodes::part_with_losses(network_.graph, training_stages[i]));
    for (const nodes::NodeArray& each : network_.arrays)
      states_[each.node][each.name] = parameters(each.spec.name);
    for (std::size_t i = 0; i < network.inputs.size(); ++i) {
      if (network.inputs[i].name == cubes_in_dataset) cubes_at_ = i;
      if (network.inputs[i].name == masks_in_dataset) masks_at_ = i;
    }
    for (const std::int64_t each : network.inputs[cubes_at_].shape) widest_ *= each;
  }

  at::Tensor outputs(std::span<const at::Tensor> inputs, const Pass& pass) const override {
    const WithoutAutocast in_fp32;
    const Values values = values_of(inputs, pass);
    const at::Tensor& cubes = inputs[cubes_at_];
    std::vector<at::Tensor> losses;
    for (const GraphNode& node : network_.graph.nodes) {
      if (!node.node->is_loss()) continue;
      const auto found = values.find(node.name);
      losses.push_back(found == values.end() ? at::zeros({}, cubes.options().dtype(at::kDouble))
                                             : found->second.find("loss")->second);
    }
    const std::int64_t rows = cubes.size(0);
    at::Tensor none = at::zeros({rows, outputs_ - std::ssize(losses)}, cubes.options());
    return at::cat({none, at::stack(losses).to(at::kFloat).unsqueeze(0).expand({rows, -1})}, 1);
  }

  std::vector<DropoutLayer> dropout_layers() const override { return {}; }
  std::int64_t widest() const override { return widest_; }
  bool judges_batches() const override { return true; }

 private:
  using Values = std::map<std::string, NodeTensors, std::less<>>;  // by node

  struct Part {
    NodeGraph graph;
    std::vector<std::size_t> last_readers;  // of each node; itself where nobody reads it
  };

  static Part part_of(NodeGraph graph) {
    Part part;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      part.last_readers.push_back(i);
      for (const auto& [port, link] : graph.nodes[i].sources) part.last_readers[link.node] = i;
    }
    part.graph = std::move(graph);
    return part;
  }

  Values values_of(std::span<const at::Tensor> inputs, const Pass& pass) const {
    const Part& part = parts_[pass.is_training ? 0 : 1];
    const Stage stage = pass.is_training ? Stage::train : Stage::val;
    if (pass.is_training) begin_epoch(pass.part);
    Values values;
    for (std::size_t i = 0; i < part.graph.nodes.size(); ++i) {
      const GraphNode& node = part.graph.nodes[i];
      if (node.type->kind == nodes::NodeKind::data)
        values[node.name] = entering(inputs);
      else if (const auto given = node.runs_in(stage) ? inputs_of(part.graph, node, values) : std::nullopt)
        values[node.name] = find_form(node.type->name)
                                ->run({*given, state_of(node), node.settings, network_.wavelengths, stage});
      for (const auto& [port, link] : node.sources)  // what nobody reads any more makes room
        if (part.last_readers[link.node] == i) values.erase(part.graph.nodes[link.node].name);
    }
    return values;
  }

  const NodeTensors& state_of(const GraphNode& node) const {
    static const NodeTensors none;
    const auto state = states_.find(node.name);
    return state == states_.end() ? none : state->second;
  }

  // Empty where a source did not run.
  static std::optional<NodeTensors> inputs_of(const NodeGraph& graph, const GraphNode& node,
                                              const Values& values) {
    NodeTensors inputs;
    for (const auto& [port, link] : node.sources) {
      const auto source = values.find(graph.nodes[link.node].name);
      if (source != values.end() && source->second.contains(link.port))
        inputs[port] = source->second.find(link.port)->second;
      else if (!nodes::find_port(node.node->inputs(), port)->is_optional)
        return std::nullopt;
    }
    return inputs;
  }

  // Classes of a mask that count as normal are not marked. Wavelengths are known without a tensor.
  NodeTensors entering(std::span<const at::Tensor> inputs) const {
    NodeTensors values{{"cube", inputs[cubes_at_]}, {"wavelengths", at::Tensor()}};
    if (!masks_at_) return values;
    at::Tensor marks = at::ones_like(inputs[*masks_at_], at::kBool);
    for (const std::int64_t each : network_.normal_classes)
      marks = at::logical_and(marks, inputs[*masks_at_].ne(each));
    values["mask"] = marks;
    return values;
  }

  // Before every step, which is as often as it takes: what a node makes of an epoch's number is the same
  // until the next. The number is read where the device counts, so that the host need not wait.
  void begin_epoch(const BatchPart& part) const {
    const at::NoGradGuard no_way_back;
    static const NodeTensors no_inputs;
    for (const GraphNode& node : network_.graph.nodes) {
      const NodeForm* form = find_form(node.type->name);
      const auto state = states_.find(node.name);
      if (form == nullptr || form->begin_epoch == nullptr || state == states_.end()) continue;
      const at::TensorOptions counts = state->second.begin()->second.options().dtype(at::kLong);
      const at::Tensor step =
          at::from_blob(const_cast<std::int64_t*>(&part.counters->current_step), {}, counts);
      const at::Tensor epoch = at::div(step, part.steps_per_epoch, "floor").to(at::kDouble);
      form->begin_epoch({no_inputs, state->second, node.settings, network_.wavelengths}, epoch);
    }
  }

  NodeNetwork network_;
  std::int64_t outputs_;
  std::array<Part, 2> parts_;  // with the losses of training and of validation
  std::map<std::string, NodeTensors, std::less<>> states_;
  std::size_t cubes_at_ = 0;
  std::optional<std::size_t> masks_at_;
  std::int64_t widest_ = 1;
};

}  // namespace

std::unique_ptr<Module> make_node_graph(const Network& network, const Parameters& parameters) {
  return std::make_unique<NodeGraphModule>(network, parameters);
}

std::string problem_of_nodes(const Network& network, bool is_validated) {
  const NodeNetwork own = nodes::node_network(network);
  if (own.bad_pixels != kernels::BadPixels::refuse)
    return "it does not leave out pixels, as bad_pixels: leave_out wants; engine fused does";
  if (!own.trains_any()) return "nothing of this graph is trained by gradients";
  const NodeGraph training = nodes::part_with_losses(own.graph, Stage::train);
  if (std::string problem = problem_of_forms(training); !problem.empty()) return problem;
  if (std::string problem = problem_of_way_back(own, training); !problem.empty()) return problem;
  return is_validated ? problem_of_forms(nodes::part_with_losses(own.graph, Stage::val)) : "";
}

}  // namespace stoker::torch_door
