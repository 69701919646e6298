#include "model/experts/expert_graph.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

ExpertTie tie_named(const std::string& name) {
  const auto& names = config::names<ExpertTie>;
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) refuse("experts are not tied by '{}'", name);
  return static_cast<ExpertTie>(found - names.begin());
}

double finite_number(const nlohmann::json& value) {
  const auto number = value.get<double>();
  if (!std::isfinite(number)) refuse("the graph of the experts has a number that is not finite");
  return number;
}

void check_graph(const KnowledgeGraph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ExpertNode& node = graph.nodes[i];
    if (node.number < 0 || node.place < 0 || node.seen_rows.size() != node.seen_steps.size())
      refuse("the graph of the experts has a node that cannot be one");
    if (i > 0 && graph.nodes[i - 1].number >= node.number)
      refuse("the experts of the graph are not in the order of their numbers");
    if (graph.at_place(node.place) != &node) refuse("two experts of the graph share a place");
  }
  const auto is_there = [&](std::int64_t number) {
    return std::ranges::any_of(graph.nodes, [&](const ExpertNode& each) { return each.number == number; });
  };
  for (const ExpertEdge& edge : graph.edges)
    if (!is_there(edge.from) || !is_there(edge.to) || edge.from == edge.to)
      refuse("the graph of the experts ties experts that are not there");
}

}  // namespace

ExpertNode* KnowledgeGraph::find(std::int64_t number) {
  const auto found = std::ranges::find(nodes, number, &ExpertNode::number);
  return found == nodes.end() ? nullptr : &*found;
}

const ExpertNode* KnowledgeGraph::at_place(std::int64_t place) const {
  const auto found = std::ranges::find(nodes, place, &ExpertNode::place);
  return found == nodes.end() ? nullptr : &*found;
}

ExpertNode* KnowledgeGraph::at_place(std::int64_t place) {
  const auto found = std::ranges::find(nodes, place, &ExpertNode::place);
  return found == nodes.end() ? nullptr : &*found;
}

void KnowledgeGraph::remove(std::int64_t number) {
  std::erase_if(nodes, [&](const ExpertNode& each) { return each.number == number; });
  std::erase_if(edges, [&](const ExpertEdge& each) { return each.from == number || each.to == number; });
}

std::int64_t KnowledgeGraph::free_place(std::int64_t room) const {
  for (std::int64_t place = 0; place < room; ++place)
    if (at_place(place) == nullptr) return place;
  return -1;
}

nlohmann::json to_json(const KnowledgeGraph& graph) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const ExpertNode& each : graph.nodes)
    nodes.push_back({{"number", each.number},
                     {"place", each.place},
                     {"born_step", each.born_step},
                     {"parent", each.parent},
                     {"activations", each.activations},
                     {"last_active_step", each.last_active_step},
                     {"specialisation", each.specialisation},
                     {"adaptation_rate", each.adaptation_rate},
                     {"seen_steps", each.seen_steps},
                     {"seen_rows", each.seen_rows},
                     {"classes", each.classes},
                     {"stage", each.stage},
                     {"rests", each.rests}});
  nlohmann::json edges = nlohmann::json::array();
  for (const ExpertEdge& each : graph.edges)
    edges.push_back(
        {{"from", each.from}, {"to", each.to}, {"tie", config::name_of(each.tie)}, {"weight", each.weight}});
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

KnowledgeGraph graph_from_json(const nlohmann::json& json) {
  try {
    KnowledgeGraph graph;
    for (const nlohmann::json& each : json.at("nodes")) {
      ExpertNode node;
      node.number = each.at("number").get<std::int64_t>();
      node.place = each.at("place").get<std::int64_t>();
      node.born_step = each.at("born_step").get<std::int64_t>();
      node.parent = each.at("parent").get<std::int64_t>();
      node.activations = finite_number(each.at("activations"));
      node.last_active_step = each.at("last_active_step").get<std::int64_t>();
      node.specialisation = finite_number(each.at("specialisation"));
      node.adaptation_rate = finite_number(each.at("adaptation_rate"));
      node.seen_steps = each.at("seen_steps").get<std::vector<std::int64_t>>();
      node.seen_rows = each.at("seen_rows").get<std::vector<double>>();
      node.classes = each.at("classes").get<std::vector<double>>();
      node.stage = each.value("stage", std::int64_t{0});
      node.rests = each.value("rests", false);
      graph.nodes.push_back(std::move(node));
    }
    for (const nlohmann::json& each : json.at("edges"))
      graph.edges.push_back({each.at("from").get<std::int64_t>(), each.at("to").get<std::int64_t>(),
                             tie_named(each.at("tie").get<std::string>()), finite_number(each.at("weight"))});
    check_graph(graph);
    return graph;
  } catch (const nlohmann::json::exception& error) {
    refuse("this is no graph of experts: {}", error.what());
  }
}

}  // namespace stoker
