#include "fused/cpu/nodes/node_engine.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "base/time/trace.h"
#include "engine/request_check.h"
#include "fused/cpu/layout.h"

namespace stoker::fused_cpu {
namespace {

// The frame's network: numbers that lie one behind the other, without layers.
Network flat_network(std::int64_t size) {
  Network network;
  network.layer_count = 1;
  network.layers[0].outputs = 1;
  network.size = size;
  return network;
}

Slices whole_batch(const EngineRequest& request) {
  return {.rows = padded(std::min(request.batch_size, request.training.rows()), row_block),
          .can_update = false,
          .most_benches = 1};
}

// Where pixels are left out, a batch is one image of those that are left.
std::string problem_of_images(const EngineRequest& request) {
  if (request.batch_size == 1) return "";
  const nodes::NodeNetwork network = nodes::node_network(request.network);
  if (network.bad_pixels == kernels::BadPixels::refuse) return "";
  for (const nodes::Stage stage : {nodes::Stage::train, nodes::Stage::val})
    for (const nodes::GraphNode& node : nodes::part_with_losses(network.graph, stage).nodes)
      if (node.node->looks_at_images())
        return fmt::format(
            "bad_pixels: leave_out makes one image of a batch, but {} looks at each image by itself; set "
            "batch_size: 1",
            node.name);
  return "";
}

// A batch of them would have no loss.
void refuse_cubes_without_pixels(const nodes::NodeNetwork& network, const Dataset& data, const char* what) {
  if (network.bad_pixels == kernels::BadPixels::refuse || data.rows() == 0) return;
  const nodes::EnteringCubes cubes(network, data);
  std::int64_t without = 0;
  for (std::int64_t row = 0; row < data.rows(); ++row)
    if (const auto left = cubes.pixels_left(row); left && left->empty()) ++without;
  if (without > 0)
    refuse(
        "{} of the {} to {} {} no pixel with finite values; filter such cubes out by the columns nan_pixels "
        "and infinite_pixels",
        without, counted(static_cast<std::uint64_t>(data.rows()), "cube"), what,
        without == 1 ? "has" : "have");
}

// "scale, pca, rx, logit, bce as one matrix"
std::string name_of_chain(const nodes::NodeGraph& graph) {
  std::vector<std::string> names;
  for (const nodes::GraphNode& node : graph.nodes)
    if (node.type->kind != nodes::NodeKind::data) names.push_back(node.name);
  return join(names, ", ") + " as one matrix";
}

bool are_moments_of(const std::string& prefix) {
  return prefix == "first_moment." || prefix == "second_moment.";
}

}  // namespace

std::string node_refusal(const EngineRequest& request) {
  if (request.optimizer.kind == Optimizer::lion) return "it does not have the optimizer lion";
  if (request.weight_average > 0) return "it keeps no moving average of weights";
  if (request.order.is_sharded()) return "it reads all cubes where they lie, and not through a window";
  if (request.order.ranks != 1 || request.collective != nullptr) return "it trains in a single process";
  if (!request.unfrozen.empty()) return "which nodes are trained is a setting of the model";
  if (request.training.find(Role::weights) != nullptr) return "all cubes count the same";
  if (const std::string problem = problem_of_images(request); !problem.empty()) return problem;
  return request_problem(request);
}

NodeLayout::NodeLayout(const stoker::Network& of) : network(nodes::node_network(of)) {
  places.resize(network.arrays.size());
  for (const bool are_trained : {true, false}) {
    for (std::size_t i = 0; i < places.size(); ++i)
      if (network.arrays[i].spec.is_trained == are_trained)
        places[i] = std::exchange(size, size + padded(network.arrays[i].spec.size(), panel));
    if (are_trained) trained = size;
  }
  size = std::max(size, panel);
}

NodeEngine::NodeEngine(const EngineRequest& request, const Kernels& kernels)
    : NodeEngine(request, NodeLayout(request.network), kernels) {}

NodeEngine::NodeEngine(const EngineRequest& request, NodeLayout layout, const Kernels& kernels)
    : FramedEngine(request, kernels, flat_network(layout.size), whole_batch(request), 1),
      layout_(std::move(layout)),
      is_trained_([this](std::string_view node) { return layout_.network.is_trained(node); }),
      gradients_(zeros(layout_.size)),
      loss_sums_(request.losses.size()),
      validation_loss_sums_(request.losses.size()) {
  refuse_cubes_without_pixels(layout_.network, request.training, "train on");
  refuse_cubes_without_pixels(layout_.network, request.validation, "validate with");
  make_buffers();
  validation_sums_.resize(1);
  training_ = passage(nodes::Stage::train);
  if (has_validation_) validation_ = passage(nodes::Stage::val);
}

NodeEngine::Passage NodeEngine::passage(nodes::Stage stage) const {
  Passage made;
  made.graph = nodes::part_with_losses(layout_.network.graph, stage);
  made.chain = nodes::find_fused_chain(made.graph, states(), is_trained_, stage);
  return made;
}

nodes::States NodeEngine::states() const {
  nodes::States all;
  for (const nodes::GraphNode& node : layout_.network.graph.nodes) all[node.name] = {};
  for (std::size_t i = 0; i < layout_.places.size(); ++i) {
    const nodes::NodeArray& array = layout_.network.arrays[i];
    const float* values = network_.parameters + layout_.places[i];
    all[array.node].push_back(
        {array.name,
         Array::from<float>({values, static_cast<std::size_t>(array.spec.size())}, array.spec.shape)});
  }
  return all;
}

void NodeEngine::keep(const nodes::States& states) {
  for (std::size_t i = 0; i < layout_.places.size(); ++i) {
    const nodes::NodeArray& array = layout_.network.arrays[i];
    std::ranges::copy(find_array(states.at(array.node), array.name).as<float>(),
                      network_.parameters + layout_.places[i]);
  }
}

void NodeEngine::pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const {
  const auto values = flat.as<float>();
  for (std::size_t i = 0; i < layout_.places.size(); ++i) {
    const ParameterSpec& spec = layout_.network.arrays[i].spec;
    if (are_moments_of(prefix) && !spec.is_trained) continue;
    std::ranges::copy(fitting_array(arrays, prefix + spec.name, spec.shape).as<float>(),
                      values.begin() + layout_.places[i]);
  }
}

void NodeEngine::append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const {
  const auto values = flat.as<float>();
  for (std::size_t i = 0; i < layout_.places.size(); ++i) {
    const ParameterSpec& spec = layout_.network.arrays[i].spec;
    if (are_moments_of(prefix) && !spec.is_trained) continue;
    const auto own =
        values.subspan(static_cast<std::size_t>(layout_.places[i]), static_cast<std::size_t>(spec.size()));
    arrays.push_back({prefix + spec.name, Array::from<float>(own, spec.shape)});
  }
}

NamedArrays NodeEngine::state() const {
  NamedArrays all = FramedEngine::state();
  all.push_back({"loss_sums", Array::from<double>(loss_sums_, {std::ssize(loss_sums_)})});
  return all;
}

void NodeEngine::restore(const NamedArrays& state) {
  FramedEngine::restore(state);
  const Array& sums = find_array(state, "loss_sums");
  if (sums.type() != DType::float64 || sums.shape() != Shape{std::ssize(loss_sums_)})
    refuse("the array 'loss_sums' of the saved state does not fit this training: it belongs to another one");
  std::ranges::copy(sums.as<double>(), loss_sums_.begin());
}

void NodeEngine::begin_step(std::int64_t step) {
  if (step % request_.steps_per_epoch() != 0) return;
  nodes::States all = states();
  for (const nodes::GraphNode& node : layout_.network.graph.nodes)
    node.node->begin_epoch(step / request_.steps_per_epoch(), all.at(node.name));
  keep(all);
}

nodes::FusedStep NodeEngine::run_chain(const Passage& way, const nodes::States& states,
                                       std::span<const std::int64_t> rows, nodes::Stage stage) {
  const nodes::EnteringCubes cubes(layout_.network, rows_of(stage));
  std::vector<nodes::Values> parts;
  for (const std::int64_t row : rows) parts.push_back(cubes.one(row));
  return run_fused_chain(way.graph, *way.chain, states, parts, is_trained_, stage);
}

// Of a step in training that is to be looked at in parts; else null.
Trace* NodeEngine::trace_of(nodes::Stage stage) {
  Trace* trace = Trace::current();
  return trace != nullptr && stage == nodes::Stage::train && trace->takes_step() ? trace : nullptr;
}

// Of some rows together. In training, what follows the pixels without a gradient is kept.
nodes::FusedStep NodeEngine::pass(const Passage& way, std::span<const std::int64_t> rows,
                                  nodes::Stage stage) {
  nodes::States all = states();
  if (way.graph.nodes.empty()) return {};
  Trace* trace = trace_of(stage);
  const Moment begin = now();
  if (way.chain) {
    nodes::FusedStep step = run_chain(way, all, rows, stage);
    if (trace != nullptr) trace->add(TraceKind::step, name_of_chain(way.graph), begin, seconds_since(begin));
    return step;
  }
  const nodes::EnteringCubes cubes(layout_.network, rows_of(stage));
  const nodes::Values entering = cubes.together(rows);
  if (trace != nullptr) trace->add(TraceKind::step, "data", begin, seconds_since(begin));
  const nodes::GraphValues values = run_forward(way.graph, all, entering, stage, trace);
  nodes::FusedStep step{total_loss(way.graph, values), {}, losses_among(way.graph, values)};
  if (stage != nodes::Stage::train) return step;
  step.gradients = run_backward(way.graph, all, values, is_trained_, trace);
  for (const nodes::GraphNode& node : way.graph.nodes)
    if (const auto found = values.find(node.name); found != values.end())
      node.node->follow_batch(found->second, all.at(node.name));
  keep(all);
  return step;
}

void NodeEngine::add_losses(const nodes::FusedStep& step, std::int64_t rows,
                            std::vector<double>& sums) const {
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (const auto found = step.losses.find(request_.losses[i].name); found != step.losses.end())
      sums[i] += found->second * static_cast<double>(rows);
}

void NodeEngine::sum_gradients(std::int64_t rows) {
  const nodes::FusedStep step = pass(training_, chosen_, nodes::Stage::train);
  row_sums_[0] += step.loss * static_cast<double>(rows);
  add_losses(step, rows, loss_sums_);
  const auto flat = gradients_.as<float>();
  std::ranges::fill(flat, 0.0F);
  for (std::size_t i = 0; i < layout_.places.size(); ++i) {
    const nodes::NodeArray& array = layout_.network.arrays[i];
    const auto found = step.gradients.find(array.node);
    if (!array.spec.is_trained || found == step.gradients.end()) continue;
    for (const NamedArray& each : found->second)
      if (each.name == array.name)
        std::ranges::copy(each.array.as<float>(), flat.begin() + layout_.places[i]);
  }
}

// What lies behind the trained numbers stays as it is.
void NodeEngine::change_weights(const Update& update) {
  if (layout_.trained == 0) return;
  Network learning = network_;
  learning.size = layout_.trained;
  kernels_.update(learning, gradients_of(0), update);
}

void NodeEngine::append_values(EpochRecord& record) {
  const auto report = [&](const char* part, std::vector<double>& sums, std::int64_t rows) {
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (sums.size() > 1)
        record.values.push_back(
            {part + request_.losses[i].name, std::exchange(sums[i], 0) / static_cast<double>(rows)});
      else
        sums[i] = 0;
  };
  report("train_", loss_sums_, request_.training.rows());
  if (has_validation_) report("validation_", validation_loss_sums_, request_.validation.rows());
  if (layout_.trained == 0) stopped_ = 1;  // another epoch would find the same
}

void NodeEngine::validate() {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(request_.validation.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  for (std::size_t first = 0; first < rows.size();) {
    const std::size_t count = std::min(static_cast<std::size_t>(request_.batch_size), rows.size() - first);
    const nodes::FusedStep step = pass(validation_, std::span(rows).subspan(first, count), nodes::Stage::val);
    validation_sums_[0] += step.loss * static_cast<double>(count);
    add_losses(step, static_cast<std::int64_t>(count), validation_loss_sums_);
    first += count;
  }
}

MemoryUse NodeEngine::memory() const {
  const std::uint64_t bytes = frame_bytes() + gradients_.bytes();
  return {bytes, bytes, bytes};
}

}  // namespace stoker::fused_cpu
