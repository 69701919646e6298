#include "model/nodes/node_network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/random.h"
#include "config/usual_bounds.h"
#include "data/cubes/cube_rows.h"
#include "model/nodes/cube_data.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

// Any pixels will do to learn how large a node's arrays are: these are uncorrelated, with a variance of 1.
kernels::Statistics plain_statistics(std::int64_t channels) {
  constexpr double pixels = 1000;
  const auto count = static_cast<std::size_t>(channels);
  kernels::Statistics plain;
  plain.rows = pixels;
  plain.least.assign(count, -1);
  plain.most.assign(count, 1);
  plain.mean.assign(count, 0);
  plain.squares.assign(count, pixels);
  plain.products.assign(count * count, 0);
  for (std::size_t i = 0; i < count; ++i) plain.products[i * count + i] = pixels;
  return plain;
}

LabelledPixels plain_pixels(std::int64_t channels) {
  constexpr std::size_t pixels = 64;
  const RandomKey key = random_key(0, Purpose::sample, 0);
  LabelledPixels plain;
  plain.channels = channels;
  plain.values.resize(pixels * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < plain.values.size(); ++i)
    plain.values[i] = static_cast<float>(uniform(key, static_cast<std::uint32_t>(i)));
  for (std::size_t i = 0; i < pixels; ++i) plain.marks.push_back(i % 2 == 0 ? 1 : 0);
  return plain;
}

NamedArrays plain_state(const GraphNode& node) {
  if (node.type->kind == NodeKind::data) return {};
  const std::int64_t channels =
      node.inputs.empty() || node.inputs[0].shape.empty() ? 1 : node.inputs[0].shape.back();
  if (channels < 0)
    refuse(
        "{}: how many channels come to it is not known without the cubes' wavelengths; set "
        "channel_wavelengths",
        node.name);
  Known known;
  const kernels::Statistics statistics = plain_statistics(channels);
  const LabelledPixels labelled = plain_pixels(channels);
  known.statistics = &statistics;
  known.labelled = &labelled;
  return node.node->begin(node.inputs, known);
}

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "bce.targets": the first input that reads this of the cubes; "" where none does.
std::string reader_of(const NodeGraph& graph, std::string_view port) {
  for (const GraphNode& node : graph.nodes)
    for (const auto& [input, link] : node.sources)
      if (graph.nodes[link.node].type->kind == NodeKind::data && link.port == port)
        return node.name + "." + input;
  return "";
}

void refuse_misfits(const config::Diagnostics& diagnostics) {
  if (diagnostics.empty()) return;
  std::vector<std::string> found;
  for (const config::Diagnostic& each : diagnostics.found())
    found.push_back(fmt::format("{}: {}", each.path, each.message));
  refuse("the graph does not fit the cubes: {}", fmt::join(found, "; "));
}

std::vector<std::int64_t> normal_classes_of(const NodeGraph& graph) {
  std::vector<std::int64_t> classes;
  for (const GraphNode& node : graph.nodes)
    if (node.type->kind == NodeKind::data)
      std::ranges::copy(settings_from<CubeDataSettings>(node.settings).normal_class_ids,
                        std::back_inserter(classes));
  return classes;
}

config::Value as_document(const NodeGraphSettings& settings) {
  config::Value document;
  document.set("nodes", config::Value(config::Value::List(settings.nodes)));
  document.set("connections", config::Value(config::Value::List(settings.connections)));
  return document;
}

// The pixels at these places alone.
Array chosen_pixels(const Array& image, std::span<const std::int64_t> places) {
  Shape shape = image.shape();
  const std::int64_t of_pixel = shape.back() * static_cast<std::int64_t>(size_of(image.type()));
  if (places.empty()) {
    shape[0] = 0;
    return Array(image.type(), std::move(shape));
  }
  Array chosen(image.type(), {1, 1, std::ssize(places), shape.back()});
  auto* to = static_cast<std::byte*>(chosen.data());
  const auto* from = static_cast<const std::byte*>(image.data());
  for (const std::int64_t place : places) to = std::copy_n(from + place * of_pixel, of_pixel, to);
  return chosen;
}

// The pixels of all, in one image of one line.
Array in_one_image(std::span<const Values> parts, const std::string& port) {
  std::int64_t pixels = 0;
  for (const Values& part : parts) pixels += pixels_in(value_at(part, port));
  const Array& first = value_at(parts.front(), port);
  Array joined(first.type(), {pixels == 0 ? 0 : 1, 1, pixels, channels_in(first)});
  auto* to = static_cast<std::byte*>(joined.data());
  for (const Values& part : parts) {
    const Array& value = value_at(part, port);
    to = std::copy_n(static_cast<const std::byte*>(value.data()), value.bytes(), to);
  }
  return joined;
}

const DatasetArray& array_called(const Dataset& data, const char* name) {
  const DatasetArray* found = data.find(name);
  if (found == nullptr) fail("there is no array '{}' of cubes", name);
  return *found;
}

}  // namespace

config::Fields fields(NodeGraphSettings& s) {
  return {config::field("nodes", s.nodes,
                        "Nodes of the graph, each with name, type and settings (class_name and hparams as "
                        "cuvis.ai writes them); docs/nodes.md has all types"),
          config::field("connections", s.connections,
                        "What goes where: maps of source and target, each NODE.PORT"),
          config::field("unfrozen", s.unfrozen,
                        "Nodes whose arrays are trained by gradients, after the statistics; empty: none, and "
                        "the statistics are all that is learnt")
              .also_called("unfreeze_nodes", "read as unfrozen")
              .needs_no("loss_nodes", "every loss node of the graph counts, by its weight")
              .needs_no("metric_nodes", "every metric node of the graph is computed"),
          config::field("bad_pixels", s.bad_pixels,
                        "Pixels with a value that is not a finite number: refuse the cubes, or leave such "
                        "pixels out of the statistics, the losses and the metrics"),
          config::field("channel_wavelengths", s.wavelengths,
                        "Of the channels, in nm; empty: those of the cubes that are trained on")
              .within(0, config::longest_wavelength)};
}

bool NodeNetwork::is_trained(std::string_view node) const {
  return is_among(unfrozen, node);
}

bool NodeNetwork::trains_any() const {
  return std::ranges::any_of(arrays, [](const NodeArray& each) { return each.spec.is_trained; });
}

States NodeNetwork::states(const NamedArrays& parameters) const {
  States all;
  for (const GraphNode& node : graph.nodes) all[node.name] = {};
  for (const NodeArray& each : arrays)
    all[each.node].push_back({each.name, find_array(parameters, each.spec.name)});
  return all;
}

NamedArrays NodeNetwork::parameters(const States& states) const {
  NamedArrays all;
  for (const NodeArray& each : arrays) {
    const auto state = states.find(each.node);
    if (state == states.end()) continue;
    for (const NamedArray& array : state->second)
      if (array.name == each.name) all.push_back({each.spec.name, array.array});
  }
  return all;
}

std::string problem_without_masks(const NodeGraph& graph) {
  const std::string reader = reader_of(graph, "mask");
  if (reader.empty()) return "";
  return fmt::format(
      "{} reads masks, but the cubes come without. {}; a graph without nodes that read masks "
      "is trained without",
      reader, how_to_give_masks);
}

bool is_node_network(const Network& network) {
  return network.family == node_graph_family;
}

NodeNetwork node_network(const Network& network) {
  const auto settings = settings_as<NodeGraphSettings>(network.settings);
  const auto cube = std::ranges::find(network.inputs, cubes_in_dataset, &ArraySpec::name);
  if (cube == network.inputs.end() || cube->shape.size() != 3)
    refuse("a graph of nodes reads cubes, which this network does not");
  NodeNetwork made;
  made.unfrozen = settings.unfrozen;
  made.wavelengths = settings.wavelengths;
  made.bad_pixels = settings.bad_pixels;
  if (!made.wavelengths.empty() && std::ssize(made.wavelengths) != cube->shape[2])
    refuse("channel_wavelengths has {} numbers, but the cubes have {} channels", made.wavelengths.size(),
           cube->shape[2]);
  config::Diagnostics diagnostics("");
  made.graph =
      read_node_graph(as_document(settings), {-1, -1, cube->shape[2], made.wavelengths}, "", diagnostics);
  refuse_misfits(diagnostics);
  if (const std::string reader = reader_of(made.graph, "wavelengths");
      made.wavelengths.empty() && !reader.empty())
    refuse("{} reads the wavelengths, but the cubes come without; set wavelengths of data_load", reader);
  if (std::ranges::find(network.inputs, masks_in_dataset, &ArraySpec::name) == network.inputs.end())
    if (const std::string problem = problem_without_masks(made.graph); !problem.empty())
      refuse("{}", problem);
  made.normal_classes = normal_classes_of(made.graph);
  for (const GraphNode& node : made.graph.nodes) {
    const std::vector<std::string> trainable = node.node->trainable();
    for (const NamedArray& array : plain_state(node)) {
      ParameterSpec spec{node.name + "." + array.name, array.array.type(), array.array.shape()};
      spec.is_trained = made.is_trained(node.name) && is_among(trainable, array.name);
      made.arrays.push_back({node.name, array.name, std::move(spec)});
    }
  }
  return made;
}

NodeGraph part_leading_to(const NodeGraph& graph,
                          const std::function<bool(const GraphNode& node)>& is_wanted) {
  std::vector<bool> is_needed(graph.nodes.size());
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const GraphNode& node = graph.nodes[i];
    is_needed[i] = is_needed[i] || is_wanted(node);
    if (!is_needed[i]) continue;
    for (const auto& [port, link] : node.sources) is_needed[link.node] = true;
  }
  NodeGraph part;
  std::vector<std::size_t> places(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_needed[i]) continue;
    places[i] = part.nodes.size();
    part.nodes.push_back(graph.nodes[i]);
    for (auto& [port, link] : part.nodes.back().sources) link.node = places[link.node];
  }
  return part;
}

NodeGraph part_with_losses(const NodeGraph& graph, Stage stage) {
  return part_leading_to(graph,
                         [&](const GraphNode& node) { return node.node->is_loss() && node.runs_in(stage); });
}

EnteringCubes::EnteringCubes(const NodeNetwork& network, const Dataset& data)
    : network_(network), cubes_(array_called(data, cubes_in_dataset)), masks_(data.find(masks_in_dataset)) {
  if (!network.wavelengths.empty())
    wavelengths_ = numbers({std::ssize(network.wavelengths)}, network.wavelengths);
}

void EnteringCubes::add_marks(std::int64_t row, std::span<std::uint8_t> marks) const {
  const Array mask = cube_at(*masks_, row);
  std::array<std::uint8_t, 256> is_marked{};
  is_marked.fill(1);
  for (const std::int64_t each : network_.normal_classes) is_marked[static_cast<std::size_t>(each)] = 0;
  const auto classes = mask.as<std::uint8_t>();
  for (std::size_t i = 0; i < classes.size(); ++i) marks[i] = is_marked[classes[i]];
}

std::optional<std::vector<std::int64_t>> EnteringCubes::pixels_left(std::int64_t row) const {
  if (network_.bad_pixels == kernels::BadPixels::refuse) return std::nullopt;
  const Array cube = cube_at(cubes_, row);
  const auto channels = static_cast<std::size_t>(channels_in(cube));
  std::vector<std::int64_t> left;
  left.reserve(static_cast<std::size_t>(pixels_in(cube)));
  for (std::int64_t pixel = 0; pixel < pixels_in(cube); ++pixel)
    if (std::ranges::all_of(cube.as<float>().subspan(static_cast<std::size_t>(pixel) * channels, channels),
                            [](float each) { return std::isfinite(each); }))
      left.push_back(pixel);
  if (std::ssize(left) == pixels_in(cube)) return std::nullopt;
  return left;
}

Values EnteringCubes::one(std::int64_t row) const {
  Values values = whole(row);
  const auto left = pixels_left(row);
  if (!left) return values;
  for (const char* port : {"cube", "mask"})
    if (const auto found = values.find(port); found != values.end())
      found->second = chosen_pixels(found->second, *left);
  return values;
}

Values EnteringCubes::whole(std::int64_t row) const {
  Values values{{"cube", cube_at(cubes_, row)}};
  if (masks_ != nullptr) {
    Array marks = with_channels(values["cube"], 1, DType::uint8);
    add_marks(row, marks.as<std::uint8_t>());
    values["mask"] = std::move(marks);
  }
  if (!network_.wavelengths.empty()) values["wavelengths"] = wavelengths_;
  return values;
}

Values EnteringCubes::together(std::span<const std::int64_t> rows) const {
  if (network_.bad_pixels == kernels::BadPixels::leave_out) {
    std::vector<Values> parts(rows.size());
    share_among_cores(std::ssize(rows), [&](std::int64_t i) {
      const auto place = static_cast<std::size_t>(i);
      parts[place] = one(rows[place]);
    });
    Values entering = parts.front();
    for (const char* port : {"cube", "mask"})
      if (entering.contains(port)) entering[port] = in_one_image(parts, port);
    return entering;
  }
  Shape shape = cubes_.row_shape();
  shape.insert(shape.begin(), std::ssize(rows));
  Array cubes(DType::float32, shape);
  shape.back() = 1;
  Array marks(DType::uint8, shape);
  const auto values = cubes.as<float>();
  const auto marked = marks.as<std::uint8_t>();
  const std::size_t size = values.size() / rows.size();
  const std::size_t pixels = marked.size() / rows.size();
  share_among_cores(std::ssize(rows), [&](std::int64_t i) {
    const auto place = static_cast<std::size_t>(i);
    const Array cube = cube_at(cubes_, rows[place]);
    std::ranges::copy(cube.as<float>(), values.subspan(place * size, size).begin());
    if (masks_ != nullptr) add_marks(rows[place], marked.subspan(place * pixels, pixels));
  });
  Values entering{{"cube", std::move(cubes)}};
  if (masks_ != nullptr) entering["mask"] = std::move(marks);
  if (!network_.wavelengths.empty()) entering["wavelengths"] = wavelengths_;
  return entering;
}

}  // namespace stoker::nodes
