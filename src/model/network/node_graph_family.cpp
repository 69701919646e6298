#include "model/network/node_graph_family.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text/text.h"
#include "base/time/trace.h"
#include "data/cubes/cube_rows.h"
#include "model/nodes/cube_statistics.h"
#include "model/nodes/fused_chain.h"
#include "model/nodes/node_network.h"

namespace stoker {
namespace {

using nodes::GraphNode;
using nodes::NodeGraph;
using nodes::NodeGraphSettings;
using nodes::NodeNetwork;

std::vector<ParameterSpec> parameters_of_nodes(const Network& network) {
  std::vector<ParameterSpec> specs;
  for (const nodes::NodeArray& each : nodes::node_network(network).arrays) specs.push_back(each.spec);
  return specs;
}

int line_of_setting(const config::Value* written, const char* setting) {
  if (written == nullptr) return 0;
  const config::Value* value = written->find(setting);
  return value == nullptr ? written->line() : value->line();
}

// Of nodes that are to be trained.
void check_unfrozen(const NodeGraph& graph, const NodeGraphSettings& settings, const std::string& path,
                    int line, config::Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const GraphNode& node : graph.nodes) names.push_back(node.name);
  for (const std::string& name : settings.unfrozen) {
    const GraphNode* node = graph.find(name);
    if (node == nullptr)
      diagnostics.add(line, path, fmt::format("there is no node '{}'{}", name, did_you_mean(name, names)));
    else if (node->node->trainable().empty())
      diagnostics.add(line, path,
                      fmt::format("{} is a {}, which has nothing to train", name, node->type->name));
  }
  const bool has_loss =
      std::ranges::any_of(graph.nodes, [](const GraphNode& node) { return node.node->is_loss(); });
  if (!settings.unfrozen.empty() && !has_loss)
    diagnostics.add(line, path, "the graph has no loss, so there is nothing to train these nodes by");
}

nodes::CubeShape shape_told_by(const NodeGraphSettings& settings) {
  nodes::CubeShape cubes;
  cubes.wavelengths = settings.wavelengths;
  if (!cubes.wavelengths.empty()) cubes.channels = std::ssize(cubes.wavelengths);
  return cubes;
}

// What can be said of the graph before there are cubes.
void check_node_graph(const config::Value& values, const std::string& path, const config::Value* written,
                      config::Diagnostics& diagnostics) {
  const auto settings = settings_as<NodeGraphSettings>(values);
  const config::Value& from = written != nullptr && written->find("nodes") != nullptr ? *written : values;
  const std::size_t faults = diagnostics.found().size();
  const NodeGraph graph = nodes::read_node_graph(from, shape_told_by(settings), path, diagnostics);
  if (diagnostics.found().size() == faults)
    check_unfrozen(graph, settings, path.empty() ? "unfrozen" : path + ".unfrozen",
                   line_of_setting(written, "unfrozen"), diagnostics);
}

InputForm form_of_cubes(const config::Value& settings) {
  InputForm form(Scaling::none);
  form.reads_cubes = true;
  const config::Value* bad = settings.find("bad_pixels");
  const auto* chosen = bad == nullptr ? nullptr : bad->get_if<std::string>();
  form.takes_odd_pixels = chosen != nullptr && *chosen == config::name_of(kernels::BadPixels::leave_out);
  return form;
}

std::int64_t count_losses(const config::Value& settings) {
  std::int64_t losses = 0;
  for (const config::Value& node : settings_as<NodeGraphSettings>(settings).nodes)
    if (const nodes::NodeType* type = nodes::type_of_written(node))
      losses += type->kind == nodes::NodeKind::loss ? 1 : 0;
  return losses;
}

// Each loss node by its name. Nodes weigh their losses themselves. What has none, of a graph of statistics
// alone, reports 0.
std::vector<LossTerm> losses_of_nodes(const Network& network, const LossTerm&) {
  std::vector<LossTerm> terms;
  for (const GraphNode& node : nodes::node_network(network).graph.nodes) {
    if (!node.node->is_loss()) continue;
    LossTerm term;
    term.kind = Loss::output;
    term.name = node.name;
    term.outputs = 1;
    term.first_output = 1 + std::ssize(terms);  // behind that of the scores
    terms.push_back(std::move(term));
  }
  if (!terms.empty()) return terms;
  LossTerm none;
  none.kind = Loss::output;
  none.outputs = 1;
  return {none};
}

std::vector<Phase> phases_of_nodes(const Network&) {
  return {GradientPhase{}};
}

// The statistics: what every node begins with.
void learn_nodes(const Network& network, const Dataset& training, std::uint64_t seed,
                 NamedArrays& parameters) {
  const Traced traced(TraceKind::training, "statistics of the nodes");
  const NodeNetwork own = nodes::node_network(network);
  const nodes::EnteringCubes cubes(own, training);
  nodes::LearningOptions options;
  options.bad_pixels = own.bad_pixels;
  options.seed = seed;
  options.of_all_pixels = [&] { return nodes::statistics_of_cubes(training, own.bad_pixels); };
  options.of_all_scores = [&](const kernels::QuadraticScores& work) {
    return nodes::statistics_of_scores(work, training, own.bad_pixels);
  };
  const nodes::Learned learned = nodes::learn_states(
      own.graph,
      [&](const std::function<void(const nodes::Values&)>& take) {
        for (std::int64_t row = 0; row < training.rows(); ++row) take(cubes.one(row));
      },
      options);
  parameters = own.parameters(learned.states);
}

std::int64_t multiply_adds_of_nodes(const Network& network) {
  std::int64_t of_pixel = 0;
  for (const ParameterSpec& spec : parameters_of_nodes(network)) of_pixel += spec.size();
  return of_pixel * network.inputs.front().shape[0] * network.inputs.front().shape[1];
}

// What a GPU has kernels for; LibTorch trains others there, where a document asks for it or figures say that
// it is faster.
std::string no_gpu_for_nodes(const config::Value& values) {
  const auto settings = settings_as<NodeGraphSettings>(values);
  if (settings.bad_pixels != kernels::BadPixels::refuse) return nodes::no_gpu_for_bad_pixels;
  config::Diagnostics diagnostics("");
  const NodeGraph graph = nodes::read_node_graph(values, shape_told_by(settings), "", diagnostics);
  if (!diagnostics.found().empty()) return nodes::no_gpu_for_graph;
  const nodes::IsTrained is_trained = [&](std::string_view node) {
    return std::ranges::find(settings.unfrozen, node) != settings.unfrozen.end();
  };
  for (const nodes::Stage stage : {nodes::Stage::train, nodes::Stage::val}) {
    const NodeGraph part = nodes::part_with_losses(graph, stage);
    if (!part.nodes.empty() && !nodes::chain_by_types(part, is_trained, stage))
      return nodes::no_gpu_for_graph;
  }
  return "";
}

Array refuse_outputs(const Network&, const NamedArrays&, const Dataset&, std::int64_t, std::int64_t) {
  refuse(
      "a model of cubes has an answer for every pixel, not one for a row: `stoker predict MODEL cubes:PATH "
      "--out FOLDER` writes scores and masks");
}

}  // namespace

Family node_graph() {
  return {.name = nodes::node_graph_family,
          .describe = config::described<NodeGraphSettings>,
          .check = check_node_graph,
          .weighs_rows = false,
          .parameters = parameters_of_nodes,
          .outputs = refuse_outputs,
          .losses = losses_of_nodes,
          .phases = phases_of_nodes,
          .form = form_of_cubes,
          .learn_buffers = learn_nodes,
          .multiply_adds = multiply_adds_of_nodes,
          .outputs_behind = count_losses,
          .learns_where_rows_lie = true,
          .brings_batches = true,
          .no_gpu_because = no_gpu_for_nodes};
}

}  // namespace stoker
