#include "model/experts/expert_stages.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "device/workers.h"
#include "model/experts/expert_graph.h"
#include "model/experts/expert_memory.h"
#include "model/experts/expert_shape.h"
#include "model/experts/expert_surgery.h"
#include "model/network/activate.h"

namespace stoker {
namespace {

using nlohmann::json;
using Matrix = Eigen::MatrixXd;

constexpr std::int64_t widest_gate = 2048;  // of what the first layer of a router puts out
constexpr double gate_ridge = 1e-4;         // of the mean square
constexpr double gate_strength = 40;        // of its answers from 0 to 1, beside the scores of a router
constexpr const char* products_name = "gate.products";  // [width + 1, width + 1] of all stages
constexpr const char* sums_name = "gate.sums";          // [stages, width + 1]
constexpr const char* answers_name = "gate.answers";    // [stages, width + 1], as they are in the router

bool may_rest(const ExpertShape& shape, bool replays) {
  return !replays && shape.settings.life.growth && shape.router_width() <= widest_gate;
}

bool somebody_rests(const KnowledgeGraph& graph) {
  return std::ranges::any_of(graph.nodes, &ExpertNode::rests);
}

// What the first layer of the router puts out, and a 1 behind it.
Matrix router_features(const ExpertShape& shape, const NamedArrays& parameters, const Dataset& rows) {
  const std::int64_t width = shape.router_width();
  const Array& features = rows.features();
  if (features.type() != DType::float32 || features.shape().size() != 2 ||
      features.dimension(1) != shape.inputs)
    fail("a stage of {} inputs was given features of another shape", shape.inputs);
  const Eigen::Map<const FloatMatrix> weight(find_array(parameters, "router.inner.weight").as<float>().data(),
                                             width, shape.inputs);
  const Eigen::Map<const Eigen::RowVectorXf> bias(
      find_array(parameters, "router.inner.bias").as<float>().data(), width);
  const std::int64_t count = features.dimension(0);
  Matrix made(count, width + 1);
  constexpr std::int64_t block = 256;
  share_among_cores((count + block - 1) / block, [&](std::int64_t number) {
    const std::int64_t first = number * block;
    const std::int64_t part = std::min(block, count - first);
    const Eigen::Map<const FloatMatrix> given(features.as<float>().data() + first * shape.inputs, part,
                                              shape.inputs);
    FloatMatrix inner = given * weight.transpose();
    inner.rowwise() += bias;
    activate(Activation::relu, inner);
    made.block(first, 0, part, width) = inner.cast<double>();
    made.block(first, width, part, 1).setOnes();
  });
  return made;
}

Matrix matrix_of(const NamedArrays& kept, const char* name, std::int64_t columns) {
  const auto found = std::ranges::find(kept, name, &NamedArray::name);
  if (found == kept.end()) return Matrix(0, columns);
  const auto values = std::as_const(found->array).as<double>();
  return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
      values.data(), found->array.dimension(0), columns);
}

void keep(NamedArrays& kept, const char* name, const Matrix& values) {
  Array array(DType::float64, {values.rows(), values.cols()});
  const auto to = array.as<double>();
  for (Eigen::Index i = 0; i < values.rows(); ++i)
    for (Eigen::Index j = 0; j < values.cols(); ++j)
      to[static_cast<std::size_t>(i * values.cols() + j)] = values(i, j);
  const auto found = std::ranges::find(kept, name, &NamedArray::name);
  if (found != kept.end()) {
    found->array = std::move(array);
  } else {
    kept.push_back({name, std::move(array)});
  }
}

Matrix with_rows(const Matrix& few, std::int64_t rows) {
  Matrix all = Matrix::Zero(rows, few.cols());
  all.topRows(few.rows()) = few;
  return all;
}

// Answers to which stage a row is like: [stages, width + 1]. The newest one gets as much on top as most of
// its own rows need to stay with it.
Matrix gate_of(const Matrix& products, const Matrix& sums, const Matrix& newest_rows, double kept) {
  Matrix ridge = products;
  ridge.diagonal().array() += gate_ridge * products.diagonal().mean();
  Matrix answers = ridge.llt().solve(sums.transpose()).transpose();
  const Eigen::Index last = answers.rows() - 1;
  const Matrix scores = newest_rows * answers.transpose();
  std::vector<double> lead;
  for (Eigen::Index row = 0; row < scores.rows(); ++row)
    lead.push_back(scores(row, last) - scores.row(row).head(last).maxCoeff());
  if (lead.empty()) return answers;
  const auto at =
      lead.begin() + static_cast<std::ptrdiff_t>((1 - kept) * static_cast<double>(lead.size() - 1));
  std::ranges::nth_element(lead, at);
  answers(last, answers.cols() - 1) += std::max(0.0, -*at);
  return answers;
}

// In place of the gate that the router had before.
void put_gate(const Matrix& answers, const Matrix& before, double temperature, const KnowledgeGraph& graph,
              ExpertArrays& arrays) {
  const Eigen::Index width = answers.cols() - 1;
  const auto weights = arrays.change("router.outer.weight");
  const auto biases = arrays.change("router.outer.bias");
  for (const ExpertNode& each : graph.nodes) {
    Eigen::RowVectorXd change = answers.row(each.stage);
    if (each.stage < before.rows()) change -= before.row(each.stage);
    change *= gate_strength * temperature;
    for (Eigen::Index i = 0; i < width; ++i)
      weights[static_cast<std::size_t>(each.place * width + i)] += static_cast<float>(change(i));
    biases[static_cast<std::size_t>(each.place)] += static_cast<float>(change(width));
  }
}

}  // namespace

std::vector<StructureEvent> begin_stage_of_experts(const StageMoment& moment, NamedArrays& parameters,
                                                   json& memory) {
  const ExpertShape shape = expert_shape(moment.network).value();
  const ExpertLife& life = shape.settings.life;
  memory["stage_began"] = moment.steps;
  memory["next_look"] = life.growth ? moment.steps + life.growth_interval : -1;
  memory["next_sleep"] = life.sleep ? moment.steps + memory.at("sleep_interval").get<std::int64_t>() : -1;
  memory["last_sleep"] = moment.steps;
  memory["hesitation"] = nullptr;
  if (moment.stage == 0) return {};
  ExpertArrays arrays(shape, parameters);
  arrays.clear_hesitation();
  arrays.clear_usage();
  if (!may_rest(shape, moment.replays) || !memory.value("may_rest", true)) return {};
  KnowledgeGraph graph = graph_from_json(memory.at("graph"));
  const std::size_t before = graph.nodes.size();
  std::vector<StructureEvent> events;
  for (std::int64_t i = 0; i < shape.settings.experts; ++i) {
    const std::int64_t place = graph.free_place(shape.room());
    if (place < 0) break;
    const auto number = memory.at("next_number").get<std::int64_t>();
    memory["next_number"] = number + 1;
    arrays.begin(place, random_key(moment.seed, Purpose::structure, static_cast<std::uint64_t>(number)));
    ExpertNode node;
    node.number = number;
    node.place = place;
    node.born_step = moment.steps;
    node.last_active_step = moment.steps;
    node.adaptation_rate = 1;
    node.stage = static_cast<std::int64_t>(moment.stage);
    graph.nodes.push_back(std::move(node));
    events.push_back(
        {moment.steps, "born",
         fmt::format("expert {} was born for the classes of stage {}", number, moment.stage + 1)});
  }
  const std::size_t born = graph.nodes.size() - before;
  if (static_cast<std::int64_t>(born) >= shape.settings.top_k) {
    for (std::size_t i = 0; i < before; ++i) {
      graph.nodes[i].rests = true;
      arrays.rest(graph.nodes[i].place, true);
    }
    events.push_back(
        {moment.steps, "rested",
         fmt::format("{} of earlier stages rest until stage {} is over: no row of theirs comes in "
                     "it, and they would forget what they know",
                     counted(before, "expert"), moment.stage + 1)});
  } else {
    events.push_back(
        {moment.steps, "crowded",
         fmt::format("there is no room for experts of stage {}: those of earlier stages learn its "
                     "classes, and forget; raise max_experts",
                     moment.stage + 1)});
  }
  memory["graph"] = to_json(graph);
  remember_events(events, memory);
  if (born < 2) return events;
  // People hear of all of them at once.
  events.erase(events.begin() + 1, events.begin() + static_cast<std::ptrdiff_t>(born));
  events.front().text =
      fmt::format("{} were born for the classes of stage {}: {} to {}", counted(born, "expert"),
                  moment.stage + 1, graph.nodes[before].number, graph.nodes.back().number);
  return events;
}

std::vector<StructureEvent> end_stage_of_experts(const StageMoment& moment, const NamedArrays& before,
                                                 NamedArrays& parameters, NamedArrays& kept, json& memory) {
  const ExpertShape shape = expert_shape(moment.network).value();
  if (!may_rest(shape, moment.replays)) return {};
  KnowledgeGraph graph = graph_from_json(memory.at("graph"));
  const bool rested = somebody_rests(graph);
  if (moment.stage > 0 && !rested) {
    // The first layer has changed: what was kept of earlier stages is not true of it.
    memory["may_rest"] = false;
    return {};
  }
  if (rested)
    for (NamedArray& each : parameters)
      if (each.name.starts_with("router.inner.")) each.array = find_array(before, each.name);
  const std::int64_t columns = shape.router_width() + 1;
  const auto stages = static_cast<std::int64_t>(moment.stage) + 1;
  const Matrix rows = router_features(shape, parameters, moment.rows);
  Matrix products = with_rows(matrix_of(kept, products_name, columns), columns);
  products.noalias() += rows.transpose() * rows;
  Matrix sums = with_rows(matrix_of(kept, sums_name, columns), stages);
  sums.row(stages - 1) = rows.colwise().sum();
  keep(kept, products_name, products);
  keep(kept, sums_name, sums);
  if (!rested) return {};

  ExpertArrays arrays(shape, parameters);
  std::size_t woken = 0;
  for (ExpertNode& each : graph.nodes) {
    if (!each.rests) continue;
    arrays.put_back(each.place, before);
    arrays.rest(each.place, false);
    each.rests = false;
    each.last_active_step = moment.steps;
    each.seen_steps.clear();
    each.seen_rows.clear();
    ++woken;
  }
  const Matrix answers = gate_of(products, sums, rows, shape.settings.life.newest_kept);
  put_gate(answers, matrix_of(kept, answers_name, columns), shape.settings.temperature, graph, arrays);
  keep(kept, answers_name, answers);
  memory["graph"] = to_json(graph);
  const std::vector<StructureEvent> events{
      {moment.steps, "woken",
       fmt::format(
           "{} of earlier stages woke as they were; the router tells by what rows of each stage were like "
           "whom to ask",
           counted(woken, "expert"))}};
  remember_events(events, memory);
  return events;
}

std::vector<std::string> frozen_in_stage_of_experts(const Network&, const json& memory) {
  if (!somebody_rests(graph_from_json(memory.at("graph")))) return {};
  return {"router.inner.weight", "router.inner.bias"};
}

}  // namespace stoker
