#include "predict/cube_scores.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/cubes.h"
#include "model/nodes/node_network.h"

namespace stoker {
namespace {

using nodes::GraphNode;
using nodes::GraphValues;
using nodes::NodeGraph;
using nodes::Stage;
using nodes::Values;

constexpr const char* metrics_of_marks = "AnomalyDetectionMetrics";

struct AnswerPort {
  std::string node;
  std::string port;
};

// The port nearest to the end of the graph with this name, one number for each pixel.
std::optional<AnswerPort> last_port(const NodeGraph& graph, const char* name, Stage stage) {
  std::optional<AnswerPort> found;
  for (const GraphNode& node : graph.nodes) {
    if (!node.runs_in(stage)) continue;
    for (const nodes::Port& port : node.outputs)
      if (port.name == name && port.shape.size() == 4 && port.shape.back() == 1) found = {node.name, name};
  }
  return found;
}

// Where the graph tells what it makes of a pixel.
struct Answers {
  std::optional<AnswerPort> scores;
  std::optional<AnswerPort> marks;
  bool are_logits = false;

  bool come_from(const GraphNode& node) const {
    return (scores && scores->node == node.name) || (marks && marks->node == node.name);
  }
};

Answers answers_of(const NodeGraph& graph, Stage stage) {
  Answers answers{last_port(graph, "logits", stage), last_port(graph, "decisions", stage), true};
  if (answers.scores) return answers;
  answers.are_logits = false;
  for (const char* name : {"scores", "best_scores"})
    if (!answers.scores) answers.scores = last_port(graph, name, stage);
  if (!answers.scores)
    refuse("the graph has no node that scores pixels, so there is nothing to tell of them");
  return answers;
}

// [height, width] of what one cube gave.
Array image_of(const GraphValues& values, const AnswerPort& port) {
  const Array& value = nodes::value_at(values.at(port.node), port.port);
  return value.seen_as(0, {value.dimension(1), value.dimension(2)});
}

Array above_zero(const Array& logits) {
  Array marks(DType::uint8, logits.shape());
  std::ranges::transform(logits.as<float>(), marks.as<std::uint8_t>().begin(),
                         [](float logit) { return logit > 0 ? std::uint8_t{1} : std::uint8_t{0}; });
  return marks;
}

CubeScores scores_in(const GraphValues& values, const Answers& answers) {
  CubeScores found{image_of(values, *answers.scores), {}};
  if (answers.marks)
    found.marks = image_of(values, *answers.marks);
  else if (answers.are_logits)
    found.marks = above_zero(found.scores);
  return found;
}

// Back to where the pixels were; those that were left out have no score, and are not marked.
CubeScores spread(const CubeScores& found, const std::vector<std::int64_t>& places, const Shape& image,
                  const Answers& answers) {
  CubeScores whole;
  whole.scores = Array(DType::float32, image);
  const auto scores = whole.scores.as<float>();
  std::ranges::fill(scores, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < places.size(); ++i)
    scores[static_cast<std::size_t>(places[i])] = found.scores.as<float>()[i];
  if (!answers.marks && !answers.are_logits) return whole;
  whole.marks = Array(DType::uint8, image);
  const auto marks = whole.marks.as<std::uint8_t>();
  std::ranges::fill(marks, std::uint8_t{0});
  for (std::size_t i = 0; i < places.size(); ++i)
    marks[static_cast<std::size_t>(places[i])] = found.marks.as<std::uint8_t>()[i];
  return whole;
}

// Values of the pixels of many cubes, in one image of one line.
Array joined(const std::vector<Array>& parts) {
  const std::int64_t channels = parts.front().shape().size() < 4 ? 1 : parts.front().shape().back();
  std::int64_t numbers = 0;
  for (const Array& part : parts) numbers += part.size();
  Array whole(parts.front().type(), {1, 1, numbers / channels, channels});
  auto* to = static_cast<std::byte*>(whole.data());
  for (const Array& part : parts) {
    std::copy_n(static_cast<const std::byte*>(part.data()), part.bytes(), to);
    to += part.bytes();
  }
  return whole;
}

// What the metric nodes read, of all cubes.
class MetricInputs {
 public:
  explicit MetricInputs(const NodeGraph& graph) : graph_(graph) {}

  // The nodes that metrics read from.
  std::set<std::string> sources() const {
    std::set<std::string> names;
    for (const GraphNode& node : graph_.nodes)
      if (is_measuring(node))
        for (const auto& [input, link] : node.sources) names.insert(graph_.nodes[link.node].name);
    return names;
  }

  void add(const GraphValues& values) {
    for (const GraphNode& node : graph_.nodes) {
      if (!is_measuring(node) || !are_there(node, values)) continue;
      for (const auto& [input, link] : node.sources) {
        const Array& value = nodes::value_at(values.at(graph_.nodes[link.node].name), link.port);
        std::vector<Array>& all = inputs_[node.name][input];
        if (value.shape().size() < 4) all.clear();  // the same of every cube
        all.push_back(value);
      }
    }
  }

  // What it reads from may run in other stages alone.
  bool are_there(const GraphNode& node, const GraphValues& values) const {
    return std::ranges::all_of(node.sources, [&](const auto& source) {
      return values.contains(graph_.nodes[source.second.node].name);
    });
  }

  void measure(const nodes::States& states, Evaluation& evaluation) const {
    for (const GraphNode& node : graph_.nodes) {
      const auto found = inputs_.find(node.name);
      if (found == inputs_.end()) continue;
      Values inputs;
      for (const auto& [input, parts] : found->second) inputs[input] = joined_or_only(parts);
      add_numbers(node.name, node.node->forward({inputs, states.at(node.name), Stage::test}), evaluation);
    }
  }

  static void add_numbers(const std::string& node, const Values& values, Evaluation& evaluation) {
    for (const auto& [name, value] : values) {
      if (value.size() != 1) continue;
      const double number = static_cast<double>(value.as<float>()[0]);
      evaluation.metrics.emplace_back(evaluation.metric(name) ? node + "." + name : name, number);
    }
  }

 private:
  static bool is_measuring(const GraphNode& node) {
    return node.type->kind == nodes::NodeKind::metric && node.runs_in(Stage::test);
  }
  static Array joined_or_only(const std::vector<Array>& parts) {
    return parts.size() == 1 ? parts.front() : joined(parts);
  }

  const NodeGraph& graph_;
  std::map<std::string, std::map<std::string, std::vector<Array>>> inputs_;
};

// Those that a graph without metrics of its own would have; of scores that nothing decides by, how well they
// rank alone.
void add_metrics_of_marks(Values inputs, Evaluation& evaluation) {
  const auto node = nodes::find_node_type(metrics_of_marks)->make(config::Value(config::Value::Map{}));
  const bool are_decided = inputs.contains("decisions");
  if (!are_decided) inputs["decisions"] = nodes::value_at(inputs, "targets");
  Values found = node->forward({inputs, {}, Stage::test});
  if (!are_decided) std::erase_if(found, [](const auto& each) { return each.first != "average_precision"; });
  MetricInputs::add_numbers("pixels", found, evaluation);
}

ConfusionMatrix confusion_of(const Values& inputs) {
  ConfusionMatrix matrix{{"0", "1"}, std::vector<std::int64_t>(4)};
  const auto actual = nodes::value_at(inputs, "targets").as<std::uint8_t>();
  const auto marks = nodes::value_at(inputs, "decisions").as<std::uint8_t>();
  for (std::size_t i = 0; i < actual.size(); ++i)
    ++matrix.counts[(actual[i] != 0 ? 2U : 0U) + (marks[i] != 0 ? 1U : 0U)];
  return matrix;
}

bool has_metrics_of_marks(const NodeGraph& graph) {
  return std::ranges::any_of(graph.nodes, [](const GraphNode& node) {
    return node.type->name == metrics_of_marks && node.runs_in(Stage::test);
  });
}

}  // namespace

void score_cubes(const Model& model, const Table& table,
                 const std::function<void(std::int64_t row, const CubeScores& scores)>& take) {
  const nodes::NodeNetwork network = nodes::node_network(model.network);
  const nodes::States states = network.states(model.parameters);
  const Answers answers = answers_of(network.graph, Stage::inference);
  const NodeGraph graph =
      part_leading_to(network.graph, [&](const GraphNode& node) { return answers.come_from(node); });
  const Dataset data = model.preparation.apply(table, DType::float32, false);
  const nodes::EnteringCubes cubes(network, data);
  const Shape of_cube = data.find(cubes_in_dataset)->row_shape();
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const auto left = cubes.pixels_left(row);
    CubeScores found;
    if (!left || !left->empty())
      found = scores_in(run_forward(graph, states, cubes.one(row), Stage::inference), answers);
    take(row, left ? spread(found, *left, {of_cube[0], of_cube[1]}, answers) : found);
  }
}

Evaluation evaluate_cubes(const Model& model, const Table& table) {
  if (table.rows() == 0)
    refuse("there are no cubes to evaluate on: hold some back (test_ratio), or leave the evaluation out");
  const nodes::NodeNetwork network = nodes::node_network(model.network);
  const nodes::States states = network.states(model.parameters);
  const Answers answers = answers_of(network.graph, Stage::test);
  MetricInputs of_nodes(network.graph);
  const std::set<std::string> read = of_nodes.sources();
  const NodeGraph graph = part_leading_to(network.graph, [&](const GraphNode& node) {
    return read.contains(node.name) || answers.come_from(node);
  });
  const Dataset data = lay_cubes(table, *model.preparation.cubes(), true);
  const nodes::EnteringCubes cubes(network, data);
  std::vector<Array> scores, marks, targets;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const Values entering = cubes.one(row);
    if (nodes::value_at(entering, "cube").empty()) continue;  // all its pixels are left out
    const GraphValues values = run_forward(graph, states, entering, Stage::test);
    of_nodes.add(values);
    const CubeScores found = scores_in(values, answers);
    scores.push_back(found.scores);
    if (!found.marks.empty()) marks.push_back(found.marks);
    targets.push_back(nodes::value_at(entering, "mask"));
  }
  if (targets.empty()) refuse("no pixel of the cubes to evaluate on has finite values");
  Evaluation evaluation;
  evaluation.task = model.preparation.task();
  evaluation.target = model.preparation.target_column();
  evaluation.rows = table.rows();
  of_nodes.measure(states, evaluation);
  Values inputs{{"logits", joined(scores)}, {"targets", joined(targets)}};
  if (!marks.empty()) inputs["decisions"] = joined(marks);
  if (!marks.empty()) evaluation.charts.emplace_back(confusion_of(inputs));
  if (!has_metrics_of_marks(network.graph)) add_metrics_of_marks(std::move(inputs), evaluation);
  return evaluation;
}

}  // namespace stoker
