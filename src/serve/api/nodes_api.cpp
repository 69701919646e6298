#include "base/error.h"
#include "model/nodes/node_network.h"
#include "pipeline/card/card.h"
#include "serve/api/node_answers.h"
#include "serve/http/field_answers.h"
#include "serve/http/schema.h"
#include "serve/service.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

const char* word_for(nodes::NodeKind kind) {
  switch (kind) {
    case nodes::NodeKind::data:
      return "data";
    case nodes::NodeKind::statistical:
      return "statistical";
    case nodes::NodeKind::stateless:
      return "stateless";
    case nodes::NodeKind::decider:
      return "decider";
    case nodes::NodeKind::loss:
      return "loss";
    case nodes::NodeKind::metric:
      return "metric";
  }
  fail("a node of no kind");
}

json ports_view(const nodes::Ports& ports) {
  json list = json::array();
  for (const nodes::Port& port : ports)
    list.push_back({{"name", port.name},
                    {"type", std::string(name_of(port.type))},
                    {"shape", port.shape},
                    {"help", port.help},
                    {"required", !port.is_optional}});
  return list;
}

// A node as it is before a person has set anything: its ports hardly depend on settings, and where they do, a
// check of the document tells those of the very node.
json node_type_view(const nodes::NodeType& type) {
  const config::Described settings = type.describe();
  const auto node = type.make(config::write_fields(settings.fields));
  const nodes::Ports inputs = node->inputs();
  return {{"name", std::string(type.name)},
          {"kind", word_for(type.kind)},
          {"help", std::string(type.help)},
          {"inputs", ports_view(inputs)},
          {"outputs", ports_view(node->outputs(inputs))},
          {"trains", !node->trainable().empty()},
          {"settings", schema_of(settings.fields)},
          {"order", order_of(settings.fields)}};
}

Response list_node_types() {
  json types = json::array();
  for (const nodes::NodeType& type : nodes::node_types()) types.push_back(node_type_view(type));
  return json_response({{"model_type", nodes::node_graph_family}, {"nodes", std::move(types)}});
}

json port_schema() {
  return schema::object(
      "NodePort", {{"name", schema::text()},
                   {"type", schema::text("Of its numbers")},
                   {"shape", schema::list_of(schema::whole(), "Sizes; -1: any, or not known yet")},
                   {"help", schema::text()},
                   {"required", schema::of_type("boolean", "Whether something must be connected to it")}});
}

json node_type_schema() {
  return schema::object(
      "NodeType", {{"name", schema::text()},
                   {"kind", schema::one_of(std::initializer_list<std::string>{
                                "data", "statistical", "stateless", "decider", "loss", "metric"})},
                   {"help", schema::text()},
                   {"inputs", schema::list_of(port_schema())},
                   {"outputs", schema::list_of(port_schema())},
                   {"trains", schema::of_type("boolean", "Whether it has arrays that gradients may change")},
                   {"settings", schema::of_type("object", "A JSON Schema")},
                   {"order", schema::list_of(schema::text(), "Of the settings, as they were declared")}});
}

}  // namespace

json graphs_view(const Document& document) {
  json graphs = json::object();
  for (const Card& card : document.cards) {
    if (card.kind->spec == nullptr || card.config.find("nodes") == nullptr) continue;
    const ModelSpec spec = card.kind->spec(card.config);
    if (spec.family != nodes::node_graph_family) continue;
    nodes::CubeShape cubes;
    if (const config::Value* given = spec.settings.find("channel_wavelengths"))
      if (const auto* list = given->get_if<config::Value::List>(); list != nullptr && !list->empty())
        cubes.channels = std::ssize(*list);
    config::Diagnostics diagnostics("");
    json nodes = json::object();
    for (const nodes::GraphNode& node : nodes::read_node_graph(spec.settings, cubes, "", diagnostics).nodes)
      nodes[node.name] = {{"inputs", ports_view(node.inputs)}, {"outputs", ports_view(node.outputs)}};
    graphs[card.id] = std::move(nodes);
  }
  return graphs;
}

std::vector<Route> node_routes() {
  const json answer =
      schema::object("NodeTypes", {{"model_type", schema::text("Of cards whose model is a graph of nodes")},
                                   {"nodes", schema::list_of(node_type_schema())}});
  return {{"GET",
           "/api/nodes",
           "listNodes",
           "Every type of node over spectral cubes: its ports, and a JSON Schema of its settings",
           Access::viewer,
           [](Call&) { return list_node_types(); },
           {},
           nullptr,
           {},
           {{200, "Types of nodes", answer}}}};
}

}  // namespace stoker::serve
