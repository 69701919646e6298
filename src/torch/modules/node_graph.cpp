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

#include "data/cube_rows.h"
#include "model/nodes/node_network.h"
#include "torch/modules/layers.h"
#include "torch/nodes/node_form.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

using nodes::GraphNode;
using nodes::NodeGraph;
using nodes::NodeNetwork;
using nodes::Stage;

constexpr std::array training_stages{Stage::train, Stage::val};

// Nodes with something to train before them.
std::vector<bool> nodes_behind_trained(const NodeNetwork& network, const NodeGraph& graph) {
  std::vector<bool> is_trained, is_behind;
  for (const GraphNode& node : graph.nodes) {
    bool behind = false;
    for (const auto& [port, link] : node.sources) behind = behind || is_trained[link.node];
    is_behind.push_back(behind);
    is_trained.push_back(behind || (network.is_trained(node.name) && !node.node->trainable().empty()));
  }
  return is_behind;
}

class NodeGraphModule : public Module {
 public:
  NodeGraphModule(const Network& network, const Parameters& parameters)
      : network_(nodes::node_network(network)), outputs_(network.outputs) {
    for (std::size_t i = 0; i < training_stages.size(); ++i)
      parts_[i] = nodes::part_with_losses(network_.graph, training_stages[i]);
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
      losses.push_back(found == values.end() ? at::zeros({}, doubles_on_device_of(cubes))
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

  static at::TensorOptions doubles_on_device_of(const at::Tensor& tensor) {
    return tensor.options().dtype(at::kDouble);
  }

  Values values_of(std::span<const at::Tensor> inputs, const Pass& pass) const {
    const NodeGraph& graph = parts_[pass.is_training ? 0 : 1];
    const Stage stage = pass.is_training ? Stage::train : Stage::val;
    const at::Tensor epoch = pass.is_training ? epoch_of(pass.part, inputs[cubes_at_]) : at::Tensor();
    Values values;
    for (const GraphNode& node : graph.nodes) {
      if (node.type->kind == nodes::NodeKind::data) {
        values[node.name] = entering(inputs);
        continue;
      }
      if (!node.runs_in(stage)) continue;
      const std::optional<NodeTensors> given = inputs_of(graph, node, values);
      if (!given) continue;
      static const NodeTensors none;
      const auto state = states_.find(node.name);
      values[node.name] = find_form(node.type->name)
                              ->run({*given, state == states_.end() ? none : state->second, node.settings,
                                     network_.wavelengths, stage, epoch});
    }
    return values;
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

  // Read where the device counts, so that the host need not wait.
  static at::Tensor epoch_of(const BatchPart& part, const at::Tensor& beside) {
    const at::NoGradGuard no_way_back;
    const at::Tensor step = at::from_blob(const_cast<std::int64_t*>(&part.counters->current_step), {},
                                          beside.options().dtype(at::kLong));
    return at::div(step, part.steps_per_epoch, "floor").to(at::kDouble);
  }

  NodeNetwork network_;
  std::int64_t outputs_;
  std::array<NodeGraph, 2> parts_;  // with the losses of training and of validation
  std::map<std::string, NodeTensors, std::less<>> states_;
  std::size_t cubes_at_ = 0;
  std::optional<std::size_t> masks_at_;
  std::int64_t widest_ = 1;
};

}  // namespace

std::unique_ptr<Module> make_node_graph(const Network& network, const Parameters& parameters) {
  return std::make_unique<NodeGraphModule>(network, parameters);
}

std::string problem_of_nodes(const Network& network) {
  const NodeNetwork own = nodes::node_network(network);
  if (own.bad_pixels != kernels::BadPixels::refuse) return "it does not leave out pixels";
  if (!own.trains_any()) return "nothing of this graph is trained by gradients";
  for (const Stage stage : training_stages) {
    const NodeGraph part = nodes::part_with_losses(own.graph, stage);
    if (stage == Stage::train && part.nodes.empty()) return "no loss of this graph runs in training";
    const std::vector<bool> behind = nodes_behind_trained(own, part);
    for (std::size_t i = 0; i < part.nodes.size(); ++i) {
      const GraphNode& node = part.nodes[i];
      if (node.type->kind == nodes::NodeKind::data) continue;
      const NodeForm* form = find_form(node.type->name);
      if (form == nullptr) return fmt::format("it does not know {}, which {} is", node.type->name, node.name);
      if (behind[i] && !form->has_way_back)
        return fmt::format("nothing before {} can be trained: {} has no gradient", node.name,
                           node.type->name);
    }
  }
  return "";
}

}  // namespace stoker::torch_door
