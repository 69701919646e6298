#include "predict/spectral/cube_scores.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/nan_sign.h"
#include "base/text/text.h"
#include "data/cubes/cube_faults.h"
#include "data/cubes/cubes.h"
#include "data/table/column_values.h"
#include "model/family.h"
#include "model/nodes/node_network.h"
#include "predict/spectral/cubes_to_measure.h"
#include "predict/spectral/pixel_skill.h"

namespace stoker {
namespace {

using nodes::GraphNode;
using nodes::GraphValues;
using nodes::NodeGraph;
using nodes::Stage;
using nodes::Values;

constexpr const char* metrics_of_marks = "AnomalyDetectionMetrics";
constexpr std::size_t most_curve_points = 1'000;

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

// Without scores where no node of it scores pixels.
Answers find_scores(const NodeGraph& graph, Stage stage) {
  Answers answers{last_port(graph, "logits", stage), last_port(graph, "decisions", stage), true};
  if (answers.scores) return answers;
  answers.are_logits = false;
  for (const char* name : {"scores", "best_scores"})
    if (!answers.scores) answers.scores = last_port(graph, name, stage);
  return answers;
}

constexpr const char* without_scores =
    "the graph has no node that scores pixels, so there is nothing to measure or to draw";

Answers answers_of(const NodeGraph& graph, Stage stage) {
  Answers answers = find_scores(graph, stage);
  if (!answers.scores) refuse("{}", without_scores);
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

// Numbers of the pixels that were left, back where they were; the others have this one.
template <class Number>
Array spread(const Array& found, const std::vector<std::int64_t>& places, const Shape& image, Number other) {
  Array whole(found.type(), image);
  const auto to = whole.as<Number>();
  std::ranges::fill(to, other);
  for (std::size_t i = 0; i < places.size(); ++i)
    to[static_cast<std::size_t>(places[i])] = found.as<Number>()[i];
  return whole;
}

// Pixels that were left out have no score, and are not marked.
CubeScores spread(const CubeScores& found, const std::vector<std::int64_t>& places, const Shape& image) {
  CubeScores whole{spread(found.scores, places, image, std::numeric_limits<float>::quiet_NaN()), {}};
  if (found.marks.shape().size() == 2) whole.marks = spread<std::uint8_t>(found.marks, places, image, 0);
  return whole;
}

// Of a cube without any pixel that is left.
CubeScores no_scores(const Answers& answers) {
  CubeScores none{Array(DType::float32, {0, 0}), {}};
  if (answers.marks || answers.are_logits) none.marks = Array(DType::uint8, {0, 0});
  return none;
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
  MetricInputs(const NodeGraph& graph, Stage stage) : graph_(graph), stage_(stage) {}

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

  // What it reads from may run in other stages alone, or be masks that the cubes do not have.
  bool are_there(const GraphNode& node, const GraphValues& values) const {
    return std::ranges::all_of(node.sources, [&](const auto& source) {
      const auto found = values.find(graph_.nodes[source.second.node].name);
      return found != values.end() && nodes::value_if(found->second, source.second.port) != nullptr;
    });
  }

  void measure(const nodes::States& states, Evaluation& evaluation) const {
    for (const GraphNode& node : graph_.nodes) {
      const auto found = inputs_.find(node.name);
      if (found == inputs_.end()) continue;
      Values inputs;
      for (const auto& [input, parts] : found->second) inputs[input] = joined_or_only(parts);
      add_numbers(node.name, node.node->forward({inputs, states.at(node.name), stage_}), evaluation);
    }
  }

  static void add_numbers(const std::string& node, const Values& values, Evaluation& evaluation) {
    for (const auto& [name, value] : values) {
      if (value.size() != 1) continue;
      const double number = static_cast<double>(value.as<float>()[0]);
      evaluation.metrics.emplace_back(evaluation.metric(name) ? node + "." + name : name,
                                      without_nan_sign(number));
    }
  }

 private:
  bool is_measuring(const GraphNode& node) const {
    return node.type->kind == nodes::NodeKind::metric && node.runs_in(stage_);
  }
  static Array joined_or_only(const std::vector<Array>& parts) {
    return parts.size() == 1 ? parts.front() : joined(parts);
  }

  const NodeGraph& graph_;
  Stage stage_;
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

bool has_metrics_of_marks(const NodeGraph& graph, Stage stage) {
  return std::ranges::any_of(graph.nodes, [&](const GraphNode& node) {
    return node.type->name == metrics_of_marks && node.runs_in(stage);
  });
}

// Cube by cube, and then over the pixels of all of them; of cubes without masks there is nothing to say but
// what nodes measure without. It looks at the network and the states.
class CubeMeasure {
 public:
  CubeMeasure(const nodes::NodeNetwork& network, const nodes::States& states, Stage stage)
      : states_(states),
        stage_(stage),
        answers_(answers_of(network.graph, stage)),
        of_nodes_(network.graph, stage),
        has_metrics_(has_metrics_of_marks(network.graph, stage)) {
    const std::set<std::string> read = of_nodes_.sources();
    graph_ = part_leading_to(network.graph, [&](const GraphNode& node) {
      return read.contains(node.name) || answers_.come_from(node);
    });
  }

  void add(const nodes::EnteringCubes& cubes, std::int64_t row) {
    const Values entering = cubes.one(row);
    const auto left = cubes.pixels_left(row);
    const Array* mask = nodes::value_if(entering, "mask");
    has_masks_ = has_masks_ || mask != nullptr;
    CubeScores found = no_scores(answers_);
    Array actual(DType::uint8, {0, 0});
    if (!left || !left->empty()) {
      const GraphValues values = run_forward(graph_, states_, entering, stage_);
      of_nodes_.add(values);
      found = scores_in(values, answers_);
      if (mask != nullptr) actual = mask->seen_as(0, found.scores.shape());
      counted_.push_back({found.scores, found.marks, actual});
    }
    if (!left) return cubes_.push_back(counted_.back());
    const CubeScores whole = spread(found, *left, cubes.image());
    if (mask != nullptr) actual = spread<std::uint8_t>(actual, *left, cubes.image(), 0);
    cubes_.push_back({whole.scores, whole.marks, actual});
  }

  void tell(Evaluation& evaluation) {
    if (counted_.empty()) refuse("no pixel of the cubes to measure on has finite values");
    of_nodes_.measure(states_, evaluation);
    if (!has_masks_) return;
    scores_ = all_of(&MeasuredCube::scores);
    targets_ = all_of(&MeasuredCube::actual);
    Values inputs{{"logits", scores_}, {"targets", targets_}};
    if (!counted_.front().marks.empty()) inputs["decisions"] = all_of(&MeasuredCube::marks);
    if (inputs.contains("decisions")) evaluation.charts.emplace_back(confusion_of(inputs));
    if (!has_metrics_) add_metrics_of_marks(std::move(inputs), evaluation);
  }

  const std::vector<MeasuredCube>& measured() const { return cubes_; }
  const std::vector<MeasuredCube>& measured_pixels() const { return counted_; }  // without those left out
  bool has_masks() const { return has_masks_; }
  const Array& scores() const { return scores_; }  // of all, once they were told
  const Array& targets() const { return targets_; }

 private:
  Array all_of(Array MeasuredCube::*part) const {
    std::vector<Array> parts;
    for (const MeasuredCube& each : counted_) parts.push_back(each.*part);
    return joined(parts);
  }

  const nodes::States& states_;
  Stage stage_;
  Answers answers_;
  MetricInputs of_nodes_;
  bool has_metrics_;
  bool has_masks_ = false;
  NodeGraph graph_;
  std::vector<MeasuredCube> cubes_;    // whole
  std::vector<MeasuredCube> counted_;  // those that have pixels which are not left out, without the others
  Array scores_;
  Array targets_;
};

// Nodes that find something wrong with what they are given do not know which cube it is.
template <class Score>
CubeScores telling_the_cube(const Table& table, std::int64_t row, const Score& score) {
  try {
    return score();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    const std::string& name = table.cubes->names.at(static_cast<std::size_t>(cube_of(table, row)));
    throw Error(error.code(), fmt::format("cube {}: {}", printable(shortened(name)), error.what()),
                error.cause());
  }
}

bool has_marked_pixel(const nodes::EnteringCubes& cubes, std::int64_t row) {
  const Values entering = cubes.one(row);
  return std::ranges::any_of(nodes::value_at(entering, "mask").as<std::uint8_t>(),
                             [](std::uint8_t each) { return each != 0; });
}

}  // namespace

bool reads_cubes(std::string_view model_type) {
  const Family* family = find_family(model_type);
  return family != nullptr && form_of(*family, config::Value(config::Value::Map{})).reads_cubes;
}

std::string problem_without_masks(const config::Value& settings) {
  config::Diagnostics diagnostics("");
  const NodeGraph graph = nodes::read_node_graph(settings, nodes::CubeShape{}, "", diagnostics);
  return diagnostics.empty() ? nodes::problem_without_masks(graph) : "";
}

std::string problem_without_scores(const config::Value& settings) {
  config::Diagnostics diagnostics("");
  const NodeGraph graph = nodes::read_node_graph(settings, nodes::CubeShape{}, "", diagnostics);
  return diagnostics.empty() && !find_scores(graph, Stage::test).scores ? without_scores : "";
}

bool can_measure_cubes(const Network& network, const Dataset& data) {
  if (!nodes::is_node_network(network) || data.rows() == 0) return false;
  const nodes::NodeNetwork graph = nodes::node_network(network);
  return data.find(masks_in_dataset) != nullptr && find_scores(graph.graph, Stage::val).scores.has_value();
}

bool lacks_marks_to_validate(const Network& network, const Dataset& data) {
  if (!nodes::is_node_network(network) || data.rows() == 0 || data.find(masks_in_dataset) == nullptr)
    return false;
  const nodes::NodeNetwork graph = nodes::node_network(network);
  if (nodes::problem_without_masks(nodes::part_with_losses(graph.graph, Stage::val)).empty()) return false;
  const nodes::EnteringCubes cubes(graph, data);
  for (std::int64_t row = 0; row < data.rows(); ++row)
    if (has_marked_pixel(cubes, row)) return false;
  return true;
}

CubesToMeasure::CubesToMeasure(const Network& network, Dataset data, std::int64_t most)
    : network_(nodes::node_network(network)), data_(std::move(data)) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(data_.rows()));
  std::iota(all.begin(), all.end(), 0);
  if (most >= data_.rows()) {
    rows_ = std::move(all);
    return;
  }
  const nodes::EnteringCubes cubes(network_, data_);
  std::vector<std::int64_t> marked;
  std::ranges::copy_if(all, std::back_inserter(marked),
                       [&](std::int64_t row) { return has_marked_pixel(cubes, row); });
  const std::vector<std::int64_t>& from = marked.empty() ? all : marked;
  const std::int64_t count = std::min(most, std::ssize(from));
  for (std::int64_t i = 0; i < count; ++i)
    rows_.push_back(from[static_cast<std::size_t>(i * std::ssize(from) / count)]);
}

std::vector<std::pair<std::string, double>> CubesToMeasure::measure(const NamedArrays& parameters) const {
  const nodes::States states = network_.states(parameters);
  const nodes::EnteringCubes cubes(network_, data_);
  CubeMeasure measure(network_, states, Stage::val);
  for (const std::int64_t row : rows_) measure.add(cubes, row);
  Evaluation evaluation;
  measure.tell(evaluation);
  return evaluation.metrics;
}

void score_cubes(const Model& model, const Table& table,
                 const std::function<void(std::int64_t row, const CubeScores& scores)>& take) {
  const nodes::NodeNetwork network = nodes::node_network(model.network);
  const nodes::States states = network.states(model.parameters);
  const Answers answers = answers_of(network.graph, Stage::inference);
  const NodeGraph graph =
      part_leading_to(network.graph, [&](const GraphNode& node) { return answers.come_from(node); });
  if (network.bad_pixels == kernels::BadPixels::refuse) refuse_odd_cubes(table, " to score");
  const Dataset data = model.preparation.apply(table, DType::float32, false);
  const nodes::EnteringCubes cubes(network, data);
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const auto left = cubes.pixels_left(row);
    CubeScores found = no_scores(answers);
    if (!left || !left->empty())
      found = telling_the_cube(table, row, [&] {
        return scores_in(run_forward(graph, states, cubes.one(row), Stage::inference), answers);
      });
    take(row, left ? spread(found, *left, cubes.image()) : found);
  }
}

namespace {

// By their names, what their masks mark and the range of their values, in the order of the rows.
std::string which_cubes(const Table& table) {
  std::string facts;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const auto cube = static_cast<std::size_t>(cube_of(table, row));
    const CubeFacts& each = table.cubes->facts.at(cube);
    facts += fmt::format("{}\n{} {} {}\n", table.cubes->names.at(cube), each.lowest, each.highest,
                         each.masked_pixels);
  }
  return sha256_of_text(facts);
}

}  // namespace

Evaluation evaluate_cubes(const Model& model, const Table& table, CubeFindings* findings) {
  if (table.rows() == 0)
    refuse("there are no cubes to evaluate on: hold some back (test_ratio), or leave the evaluation out");
  const nodes::NodeNetwork network = nodes::node_network(model.network);
  const nodes::States states = network.states(model.parameters);
  const Dataset data =
      lay_cubes(table, *model.preparation.cubes(), table.cubes != nullptr && table.cubes->has_masks());
  if (network.bad_pixels == kernels::BadPixels::refuse) refuse_odd_cubes(table, " to evaluate on");
  const nodes::EnteringCubes cubes(network, data);
  CubeMeasure measure(network, states, Stage::test);
  for (std::int64_t row = 0; row < table.rows(); ++row) measure.add(cubes, row);
  Evaluation evaluation;
  evaluation.task = model.preparation.task();
  evaluation.target = model.preparation.target_column();
  evaluation.rows = table.rows();
  evaluation.cubes_measured = which_cubes(table);
  measure.tell(evaluation);
  if (measure.has_masks()) add_pixel_baseline(measure.measured_pixels(), evaluation);
  if (findings == nullptr) return evaluation;
  findings->cubes = table.rows();
  findings->shown = cubes_to_show(table, measure.measured());
  findings->spectra = spectra_of(table, findings->shown);
  findings->spectra.chosen = bands_chosen_by(network, states);
  findings->components = components_of(network, states);
  if (measure.has_masks())
    findings->curve =
        thinned(precision_recall(measure.scores().as<float>(), measure.targets().as<std::uint8_t>()),
                most_curve_points);
  return evaluation;
}

}  // namespace stoker
