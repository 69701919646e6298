#include <algorithm>
#include <numeric>
#include <optional>

#include "predict/spectral/cube_findings.h"

namespace stoker {
namespace {

using nodes::GraphNode;
using nodes::Link;
using nodes::NodeGraph;
using nodes::NodeNetwork;
using nodes::States;

constexpr std::size_t most_told_components = 8;

// What the values at a port are made of.
struct Origin {
  std::vector<std::int64_t> channels;  // of the cubes
  // Weights of those for each value, [values, channels]; empty: each value is one of the channels.
  std::vector<std::vector<double>> weights;
};

// The one input that each output is made of; none where outputs mix them. An output that a selector weighs by
// 0 is still its own.
std::optional<std::vector<std::size_t>> inputs_kept_apart(const nodes::Affine& affine) {
  std::vector<std::size_t> inputs;
  for (std::int64_t output = 0; output < affine.outputs; ++output) {
    std::optional<std::size_t> found;
    for (std::int64_t input = 0; input < affine.inputs; ++input) {
      if (affine.at(output, input) == 0) continue;
      if (found) return std::nullopt;
      found = static_cast<std::size_t>(input);
    }
    inputs.push_back(found.value_or(static_cast<std::size_t>(output)));
  }
  return inputs;
}

// Rows of numbers times those that they are weights of.
std::vector<std::vector<double>> product(const std::vector<std::vector<double>>& rows, const Origin& of) {
  if (of.weights.empty()) return rows;
  std::vector<std::vector<double>> result;
  for (const std::vector<double>& row : rows) {
    std::vector<double>& sums = result.emplace_back(of.channels.size());
    for (std::size_t i = 0; i < row.size(); ++i)
      for (std::size_t channel = 0; channel < sums.size(); ++channel)
        sums[channel] += row[i] * of.weights[i][channel];
  }
  return result;
}

// Of the node's first input, where it can be followed to the cubes.
std::optional<Origin> origin_of_input(const NodeNetwork& network, const States& states,
                                      const GraphNode& node);

std::optional<Origin> origin_of(const NodeNetwork& network, const States& states, const Link& link) {
  const GraphNode& node = network.graph.nodes[link.node];
  const nodes::Port* port = nodes::find_port(node.outputs, link.port);
  if (port == nullptr || port->shape.size() != 4) return std::nullopt;
  if (node.type->kind == nodes::NodeKind::data) {
    if (port->shape.back() < 0) return std::nullopt;
    Origin all;
    all.channels.resize(static_cast<std::size_t>(port->shape.back()));
    std::iota(all.channels.begin(), all.channels.end(), 0);
    return all;
  }
  // What affine() tells of is the first output alone.
  if (node.outputs.front().name != link.port) return std::nullopt;
  std::optional<Origin> before = origin_of_input(network, states, node);
  if (!before || node.type->name == "PerPixelUnitNorm") return before;
  const std::optional<nodes::Affine> affine = node.node->affine(states.at(node.name));
  if (!affine) return std::nullopt;
  const auto apart = inputs_kept_apart(*affine);
  Origin made;
  if (!apart) {
    for (std::int64_t output = 0; output < affine->outputs; ++output) {
      const auto row = affine->matrix.begin() + output * affine->inputs;
      made.weights.emplace_back(row, row + affine->inputs);
    }
    made.weights = product(made.weights, *before);
    made.channels = before->channels;
  } else if (before->weights.empty()) {
    for (const std::size_t input : *apart) made.channels.push_back(before->channels.at(input));
  } else {
    made.channels = before->channels;
    for (const std::size_t input : *apart) made.weights.push_back(before->weights.at(input));
  }
  return made;
}

std::optional<Origin> origin_of_input(const NodeNetwork& network, const States& states,
                                      const GraphNode& node) {
  const auto source = node.sources.find(node.inputs.front().name);
  return source == node.sources.end() ? std::nullopt : origin_of(network, states, source->second);
}

std::vector<std::int64_t> largest(std::span<const float> numbers, std::int64_t count) {
  std::vector<std::int64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return numbers[static_cast<std::size_t>(a)] > numbers[static_cast<std::size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  std::ranges::sort(order);
  return order;
}

// Among the values of its first input; none of a node that selects nothing.
std::vector<std::int64_t> values_chosen_by(const GraphNode& node, const NamedArrays& state) {
  if (node.type->name == "SoftChannelSelector")
    return largest(find_array(state, "channel_logits").as<float>(),
                   *node.settings.find("n_select")->get_if<std::int64_t>());
  std::vector<std::int64_t> chosen;
  if (node.type->name == "SupervisedFullSpectrumSelector")
    for (const float each : find_array(state, "selected_indices").as<float>())
      chosen.push_back(static_cast<std::int64_t>(each));
  return chosen;
}

std::vector<double> wavelengths_of(const NodeNetwork& network, const std::vector<std::int64_t>& channels) {
  std::vector<double> wavelengths;
  if (!network.wavelengths.empty())
    for (const std::int64_t each : channels)
      wavelengths.push_back(network.wavelengths.at(static_cast<std::size_t>(each)));
  return wavelengths;
}

}  // namespace

std::vector<ChosenBands> bands_chosen_by(const NodeNetwork& network, const States& states) {
  std::vector<ChosenBands> all;
  for (const GraphNode& node : network.graph.nodes) {
    const std::vector<std::int64_t> values = values_chosen_by(node, states.at(node.name));
    if (values.empty()) continue;
    const std::optional<Origin> origin = origin_of_input(network, states, node);
    if (!origin || !origin->weights.empty()) continue;
    ChosenBands chosen{node.name, {}};
    for (const std::int64_t each : values)
      chosen.channels.push_back(origin->channels.at(static_cast<std::size_t>(each)));
    all.push_back(std::move(chosen));
  }
  return all;
}

std::vector<SpectralComponents> components_of(const NodeNetwork& network, const States& states) {
  std::vector<SpectralComponents> all;
  for (const GraphNode& node : network.graph.nodes) {
    if (node.type->name != "TrainablePCA") continue;
    const NamedArrays& state = states.at(node.name);
    const Array& axes = find_array(state, "components");
    const auto width = static_cast<std::size_t>(axes.dimension(1));
    SpectralComponents found{node.name, {}, {}, {}, axes.dimension(0)};
    for (std::size_t i = 0; i < std::min(most_told_components, static_cast<std::size_t>(found.count)); ++i) {
      const auto axis = axes.as<float>().subspan(i * width, width);
      found.weights.emplace_back(axis.begin(), axis.end());
      found.shares.push_back(
          static_cast<double>(find_array(state, "explained_variance_ratio").as<float>()[i]));
    }
    if (const std::optional<Origin> origin = origin_of_input(network, states, node)) {
      found.weights = product(found.weights, *origin);
      found.wavelengths = wavelengths_of(network, origin->channels);
    }
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace stoker
