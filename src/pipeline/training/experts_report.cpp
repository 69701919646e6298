#include "pipeline/training/experts_report.h"

#include <algorithm>
#include <functional>
#include <limits>

#include <nlohmann/json.hpp>

#include "model/experts/expert_graph.h"
#include "model/experts/expert_shape.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t most_told_moments = 40;
constexpr std::size_t most_told_edges = 1'000;  // of a moment, the strongest
// With more classes, their shares are told of the last moments alone, and beyond what a picture shows of
// none.
constexpr std::size_t most_classes_always = 100;
constexpr std::size_t most_classes_at_all = 1'000;
constexpr std::size_t longest_class_name = 200;

std::vector<ExpertsRecord::Node> nodes_in(const KnowledgeGraph& graph, bool has_classes) {
  std::vector<ExpertsRecord::Node> nodes;
  for (const ExpertNode& each : graph.nodes)
    nodes.push_back({each.number, each.parent, each.seen_rows.empty() ? 0 : each.seen_rows.back(),
                     each.activations, each.specialisation, each.adaptation_rate,
                     has_classes ? each.classes : std::vector<double>{}});
  return nodes;
}

std::vector<ExpertEdge> strongest_edges(std::vector<ExpertEdge> edges) {
  std::ranges::stable_sort(edges, std::greater(), &ExpertEdge::weight);
  if (edges.size() > most_told_edges) edges.resize(most_told_edges);
  return edges;
}

double hesitation_in(const json& part) {
  const json& value = part.at("hesitation");
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

void tell_moments(const json& memory, ExpertsRecord& record) {
  const json& all = memory.at("moments");
  const std::size_t told = std::min(all.size(), most_told_moments);
  const bool has_classes = !record.classes.empty();
  for (std::size_t i = 0; i < told; ++i) {
    // From the first to the last, evenly spaced.
    const std::size_t at = told == 1 ? all.size() - 1 : i * (all.size() - 1) / (told - 1);
    const bool is_last = i + 1 == told;
    ExpertsRecord::Moment moment;
    moment.step = all[at].at("step").get<std::int64_t>();
    moment.epoch = record.epoch_of(moment.step);
    moment.hesitation = hesitation_in(all[at]);
    const KnowledgeGraph graph = graph_from_json(all[at].at("graph"));
    moment.nodes = nodes_in(graph, has_classes && (is_last || record.classes.size() <= most_classes_always));
    moment.edges = strongest_edges(graph.edges);
    record.moments.push_back(std::move(moment));
  }
  const json epochs = memory.value("epochs", json::array());
  for (const json& each : epochs) {
    const KnowledgeGraph graph = graph_from_json(each.at("graph"));
    const auto step = each.at("step").get<std::int64_t>();
    record.epochs.push_back({step, record.epoch_of(step), hesitation_in(each),
                             nodes_in(graph, has_classes && record.classes.size() <= most_classes_always),
                             strongest_edges(graph.edges)});
  }
  const KnowledgeGraph graph = graph_from_json(memory.at("graph"));
  record.last = {record.steps, record.epoch_of(record.steps), hesitation_in(memory),
                 nodes_in(graph, has_classes), strongest_edges(graph.edges)};
}

void count_parameters(const Network& network, ExpertsRecord& record) {
  const std::optional<ExpertShape> shape = expert_shape(network);
  if (!shape) return;
  const auto living = static_cast<std::int64_t>(record.last.nodes.size());
  record.top_k = shape->settings.top_k;
  record.room = shape->room();
  const std::int64_t of_one = parameters_of_one_expert(*shape);
  const std::int64_t router = parameters_of_router(*shape, living);
  record.parameters = router + living * of_one;
  record.active_parameters = router + std::min(living, record.top_k) * of_one;
}

}  // namespace

ExpertsRecord experts_of(const FitResult& result) {
  ExpertsRecord record;
  record.device = result.device;
  record.steps = result.steps;
  record.steps_per_epoch = std::max<std::int64_t>(result.steps_per_epoch, 1);
  const std::vector<std::string>& classes = result.model.preparation.classes();
  if (classes.size() <= most_classes_at_all)
    for (const std::string& each : classes) record.classes.push_back(each.substr(0, longest_class_name));
  try {
    const json memory = json::parse(result.structure);
    for (const json& each : memory.at("events"))
      record.events.push_back({each.at("step").get<std::int64_t>(), each.at("kind").get<std::string>(),
                               each.at("text").get<std::string>()});
    tell_moments(memory, record);
  } catch (const json::exception& error) {
    refuse("this is no memory of experts: {}", error.what());
  }
  count_parameters(result.model.network, record);
  return record;
}

ExpertUse expert_use_of(const FitResult& result, std::vector<std::int64_t> rows, std::int64_t measured_rows) {
  const ExpertsRecord record = experts_of(result);
  ExpertUse use;
  use.rows = std::move(rows);
  use.measured_rows = measured_rows;
  const std::int64_t saved_step =
      result.best_epoch < 0 ? result.steps : (result.best_epoch + 1) * record.steps_per_epoch;
  use.saved_epoch = record.epoch_of(std::min(saved_step, result.steps));
  for (const ExpertsRecord::Event& each : record.events) {
    if (each.kind == "slept") continue;
    if (++use.changes == 1) use.first_change_epoch = record.epoch_of(each.step);
    if (each.step > saved_step) ++use.changes_after_saved;
  }
  return use;
}

}  // namespace stoker
