#include "model/node_graph_family.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "base/trace.h"
#include "data/cube_rows.h"
#include "kernels/place.h"
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

// What can be said of the graph before there are cubes.
void check_node_graph(const config::Value& values, const std::string& path, const config::Value* written,
                      config::Diagnostics& diagnostics) {
  const auto settings = settings_as<NodeGraphSettings>(values);
  const config::Value& from = written != nullptr && written->find("nodes") != nullptr ? *written : values;
  const std::size_t faults = diagnostics.found().size();
  nodes::CubeShape cubes;
  cubes.wavelengths = settings.wavelengths;
  if (!cubes.wavelengths.empty()) cubes.channels = std::ssize(cubes.wavelengths);
  const NodeGraph graph = nodes::read_node_graph(from, cubes, path, diagnostics);
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

// On the GPU whose memory the cubes lie in, those that are neighbours there together; none where they lie
// elsewhere. Bad pixels are for a pass over the cubes to tell of, which knows which they are of.
std::optional<kernels::Statistics> statistics_on_gpu(const NodeNetwork& network, const Dataset& training) {
  const DatasetArray& cubes = *training.find(cubes_in_dataset);
  if (cubes.array.memory() != Memory::device) return std::nullopt;
  const Shape shape = cubes.row_shape();
  const Array starts = cubes.starts.to_host();
  const auto lines = starts.as<std::int64_t>();
  kernels::Statistics all;
  for (std::size_t row = 0; row < lines.size();) {
    std::size_t end = row + 1;
    while (end < lines.size() && lines[end] == lines[end - 1] + shape[0]) ++end;
    const kernels::StatisticsWork work{
        static_cast<const float*>(cubes.array.data()) + lines[row] * shape[1] * shape[2], nullptr,
        static_cast<std::int64_t>(end - row) * shape[0] * shape[1], shape[2], true};
    try {
      all.merge(kernels::covariance(work, network.bad_pixels, {cubes.array.device(), nullptr}));
    } catch (const OutOfMemory&) {
      return std::nullopt;
    } catch (const Error& error) {
      if (error.code() != ExitCode::wrong_request) throw;
      return std::nullopt;
    }
    row = end;
  }
  return all;
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
  options.of_all_pixels = [&] { return statistics_on_gpu(own, training); };
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
          .is_on_gpu_by_name_alone = true,
          .is_estimated_on_gpu = false};
}

}  // namespace stoker
