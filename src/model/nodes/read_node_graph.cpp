#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "model/nodes/node_graph.h"

namespace stoker::nodes {
namespace {

// "pca.outputs.projected" or "pca.projected".
struct Place {
  std::string node;
  std::string port;
};

std::optional<Place> place_in(const std::string& text, std::string_view side) {
  const std::size_t last = text.rfind('.');
  if (last == std::string::npos || last == 0 || last + 1 == text.size()) return std::nullopt;
  std::string node = text.substr(0, last);
  const std::string between = fmt::format(".{}", side);
  if (node.size() > between.size() && node.ends_with(between)) node.resize(node.size() - between.size());
  return Place{std::move(node), text.substr(last + 1)};
}

std::vector<std::string> names_of(const Ports& ports) {
  std::vector<std::string> names;
  for (const Port& port : ports) names.push_back(port.name);
  return names;
}

std::string meant_or_known(const std::string& name, const std::vector<std::string>& known) {
  const std::string meant = did_you_mean(name, known);
  return meant.empty() && !known.empty() ? "; it has " + join(known, ", ") : meant;
}

// What a document says, before nodes are put in order.
struct Connection {
  Place source, target;
  int line = 0;
  std::string path;
};

class GraphReader {
 public:
  GraphReader(const CubeShape& cubes, std::string path, config::Diagnostics& diagnostics)
      : cubes_(cubes), path_(std::move(path)), diagnostics_(diagnostics) {}

  NodeGraph read(const config::Value& document) {
    const std::size_t faults = diagnostics_.found().size();
    read_nodes(document);
    read_connections(document);
    if (diagnostics_.found().size() > faults) return {};
    NodeGraph graph;
    while (place_next(graph)) {
    }
    for (const auto& [name, node] : waiting_)
      if (waits_for_itself(name))
        add_error(lines_[name], "nodes." + name, "its connections form a cycle, so it waits for itself");
    return graph;
  }

 private:
  std::string at(const std::string& inner) const { return path_.empty() ? inner : path_ + "." + inner; }
  void add_error(int line, const std::string& inner, std::string message) {
    diagnostics_.add(line, at(inner), std::move(message));
  }

  static const config::Value* either(const config::Value& map, const char* one, const char* other) {
    const config::Value* found = map.find(one);
    return found != nullptr ? found : map.find(other);
  }

  void read_nodes(const config::Value& document) {
    const config::Value* nodes = document.find("nodes");
    const auto* list = nodes == nullptr ? nullptr : nodes->get_if<config::Value::List>();
    if (list == nullptr || list->empty()) {
      add_error(document.line(), "nodes", "a list of nodes is needed, each with a name and a type");
      return;
    }
    constexpr std::size_t most_nodes = 500;
    if (list->size() > most_nodes)
      return add_error(document.line(), "nodes",
                       fmt::format("a graph has at most {} nodes, found {}", most_nodes, list->size()));
    for (std::size_t i = 0; i < list->size(); ++i) read_node((*list)[i], fmt::format("nodes.{}", i));
  }

  void read_node(const config::Value& value, const std::string& inner) {
    const config::Value* type = either(value, "type", "class_name");
    const auto* type_name = type == nullptr ? nullptr : type->get_if<std::string>();
    if (type_name == nullptr) return add_error(value.line(), inner, "a node needs a type, such as RXGlobal");
    const config::Value* name = value.find("name");
    const auto* given_name = name == nullptr ? nullptr : name->get_if<std::string>();
    GraphNode node;
    node.type = find_node_type(*type_name);
    node.name = given_name != nullptr ? *given_name : type_name->substr(type_name->rfind('.') + 1);
    if (waiting_.contains(node.name) || left_out_.contains(node.name))
      return add_error(value.line(), inner, fmt::format("there is a node '{}' already", node.name));
    if (node.type == nullptr && is_left_to_the_report(*type_name)) {
      diagnostics_.note(value.line(), at(inner),
                        fmt::format("{} is left out: a run draws its own pictures", node.name));
      left_out_.insert(node.name);
      return;
    }
    if (node.type == nullptr) {
      std::vector<std::string> known;
      for (const NodeType& each : node_types()) known.emplace_back(each.name);
      const std::string own = type_name->substr(type_name->rfind('.') + 1);
      left_out_.insert(node.name);  // its connections are not to blame
      return add_error(type->line(), inner,
                       fmt::format("there is no type of node '{}'{}", own, did_you_mean(own, known)));
    }
    read_settings(value, inner, node);
    lines_[node.name] = value.line();
    waiting_.emplace(node.name, std::move(node));
  }

  // cuvis.ai keeps a node's name and stages among its settings.
  void read_settings(const config::Value& value, const std::string& inner, GraphNode& node) {
    const config::Value* given = either(value, "settings", "hparams");
    config::Value::Map own;
    if (given != nullptr && !given->is_null()) {
      const auto* map = given->get_if<config::Value::Map>();
      if (map == nullptr)
        return add_error(given->line(), inner, "settings must be a map of names and values");
      for (const config::Entry& entry : *map) {
        if (entry.key == "execution_stages")
          read_stages(entry.value, inner, node);
        else if (entry.key != "name")
          own.push_back(entry);
      }
    }
    if (const config::Value* stages = value.find("stages")) read_stages(*stages, inner, node);
    const config::Described described = node.type->describe();
    const std::size_t faults = diagnostics_.found().size();
    config::read_fields(described.fields, config::Value(own, given == nullptr ? value.line() : given->line()),
                        at(inner), diagnostics_);
    if (diagnostics_.found().size() > faults) return;
    node.settings = config::write_fields(described.fields);
    node.node = node.type->make(node.settings);
  }

  void read_stages(const config::Value& value, const std::string& inner, GraphNode& node) {
    if (value.is_null()) return;
    const auto* list = value.get_if<config::Value::List>();
    const std::vector<std::pair<std::string_view, Stage>> names{
        {"train", Stage::train}, {"val", Stage::val}, {"test", Stage::test}, {"inference", Stage::inference}};
    if (list == nullptr)
      return add_error(value.line(), inner, "stages must be a list of train, val, test, inference");
    for (const config::Value& each : *list) {
      const auto* text = each.get_if<std::string>();
      if (text != nullptr && *text == "always") continue;
      const auto found = std::ranges::find_if(
          names, [&](const auto& known) { return text != nullptr && known.first == *text; });
      if (found == names.end())
        add_error(
            each.line(), inner,
            fmt::format("{} is not a stage; stages are train, val, test and inference", each.describe()));
      else
        node.stages.push_back(found->second);
    }
  }

  void read_connections(const config::Value& document) {
    const config::Value* connections = document.find("connections");
    if (connections == nullptr || connections->is_null()) return;
    const auto* list = connections->get_if<config::Value::List>();
    if (list == nullptr)
      return add_error(connections->line(), "connections", "must be a list, each with source and target");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const config::Value& value = (*list)[i];
      const config::Value* source = either(value, "source", "from");
      const config::Value* target = either(value, "target", "to");
      const std::string inner = fmt::format("connections.{}", i);
      const auto* from = source == nullptr ? nullptr : source->get_if<std::string>();
      const auto* to = target == nullptr ? nullptr : target->get_if<std::string>();
      const auto one = from == nullptr ? std::nullopt : place_in(*from, "outputs");
      const auto other = to == nullptr ? std::nullopt : place_in(*to, "inputs");
      if (!one || !other) {
        add_error(value.line(), inner, "needs a source and a target, each NODE.PORT");
        continue;
      }
      if (left_out_.contains(one->node) || left_out_.contains(other->node)) continue;
      add_connection({*one, *other, value.line(), inner});
    }
  }

  void add_connection(const Connection& connection) {
    std::vector<std::string> known;
    for (const auto& [name, node] : waiting_) known.push_back(name);
    for (const Place* place : {&connection.source, &connection.target})
      if (!waiting_.contains(place->node))
        return add_error(
            connection.line, connection.path,
            fmt::format("there is no node '{}'{}", place->node, did_you_mean(place->node, known)));
    const GraphNode& target = waiting_.at(connection.target.node);
    if (target.node == nullptr) return;  // told already
    const Ports inputs = target.node->inputs();
    const auto names = names_of(inputs);
    // What a metric of cuvis.ai reports goes to monitors alone.
    if (find_port(inputs, connection.target.port) == nullptr)
      return add_error(connection.line, connection.path,
                       fmt::format("{} has no input '{}'{}", target.name, connection.target.port,
                                   meant_or_known(connection.target.port, names)));
    for (const Connection& other : connections_)
      if (other.target.node == connection.target.node && other.target.port == connection.target.port)
        return add_error(connection.line, connection.path,
                         fmt::format("{}.{} has a connection already, from {}.{}", target.name,
                                     connection.target.port, other.source.node, other.source.port));
    connections_.push_back(connection);
  }

  // Others wait for one that does.
  bool waits_for_itself(const std::string& name) const {
    std::set<std::string> reached;
    std::vector<std::string> next{name};
    while (!next.empty()) {
      const std::string from = next.back();
      next.pop_back();
      for (const Connection& each : connections_) {
        if (each.source.node != from || !reached.insert(each.target.node).second) continue;
        next.push_back(each.target.node);
      }
    }
    return reached.contains(name);
  }

  // The next node all of whose sources are placed.
  bool place_next(NodeGraph& graph) {
    for (auto& [name, node] : waiting_) {
      const bool is_ready = std::ranges::all_of(connections_, [&](const Connection& each) {
        return each.target.node != name || graph.find(each.source.node) != nullptr;
      });
      if (!is_ready) continue;
      GraphNode ready = std::move(node);
      waiting_.erase(name);
      connect(graph, ready);
      graph.nodes.push_back(std::move(ready));
      return true;
    }
    return false;
  }

  void connect(const NodeGraph& graph, GraphNode& node) {
    bool is_sound = true;
    for (const Port& input : node.node->inputs()) {
      const auto connection = std::ranges::find_if(connections_, [&](const Connection& each) {
        return each.target.node == node.name && each.target.port == input.name;
      });
      if (connection == connections_.end()) {
        if (input.is_optional) continue;
        add_error(lines_[node.name], "nodes." + node.name,
                  fmt::format("nothing is connected to its input '{}', {}", input.name,
                              describe(input.type, input.shape)));
        is_sound = false;
        continue;
      }
      is_sound = connect_port(graph, *connection, input, node) && is_sound;
    }
    if (is_sound) make_outputs(node);
  }

  bool connect_port(const NodeGraph& graph, const Connection& connection, const Port& input,
                    GraphNode& node) {
    const GraphNode& source = *graph.find(connection.source.node);
    if (source.outputs.empty()) return false;  // told already
    const Port* given = find_port(source.outputs, connection.source.port);
    if (given == nullptr) {
      add_error(connection.line, connection.path,
                fmt::format("{} has no output '{}'{}", source.name, connection.source.port,
                            meant_or_known(connection.source.port, names_of(source.outputs))));
      return false;
    }
    if (!fits(input, given->type, given->shape)) {
      add_error(connection.line, connection.path,
                fmt::format("{}.{} gives {}, but {}.{} takes {}", source.name, given->name,
                            describe(given->type, given->shape), node.name, input.name,
                            describe(input.type, input.shape)));
      return false;
    }
    Port connected = *given;
    connected.name = input.name;
    node.inputs.push_back(std::move(connected));
    node.sources[input.name] = {static_cast<std::size_t>(&source - graph.nodes.data()), given->name};
    return true;
  }

  void make_outputs(GraphNode& node) {
    try {
      node.outputs = node.node->outputs(node.inputs);
    } catch (const Error& error) {
      add_error(lines_[node.name], "nodes." + node.name, error.what());
      return;
    }
    if (node.type->kind != NodeKind::data) return;
    node.outputs[0].shape = {-1, cubes_.height, cubes_.width, cubes_.channels};
    node.outputs[1].shape = {-1, cubes_.height, cubes_.width, 1};
    node.outputs[2].shape = {cubes_.channels};
    node.outputs[2].values = cubes_.wavelengths;
  }

  const CubeShape& cubes_;
  std::string path_;
  config::Diagnostics& diagnostics_;
  std::map<std::string, GraphNode> waiting_;
  std::map<std::string, int> lines_;
  std::set<std::string> left_out_;
  std::vector<Connection> connections_;
};

}  // namespace

NodeGraph read_node_graph(const config::Value& document, const CubeShape& cubes, const std::string& path,
                          config::Diagnostics& diagnostics) {
  return GraphReader(cubes, path, diagnostics).read(document);
}

}  // namespace stoker::nodes
