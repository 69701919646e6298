#include "pipeline/document/seed_form.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "config/quote.h"
#include "pipeline/card/card.h"
#include "pipeline/document/trainrun_form.h"

namespace stoker {
namespace {

using config::Diagnostics;
using config::Entry;
using config::Value;

void check_keys(const Value& map, const std::string& path, std::span<const std::string> known,
                Diagnostics& diagnostics) {
  for (const Entry& entry : *map.get_if<Value::Map>()) {
    bool is_known = false;
    for (const std::string& name : known) is_known = is_known || name == entry.key;
    if (is_known) continue;
    const std::string shown = config::shown(entry.key);
    diagnostics.add(entry.line, path.empty() ? shown : path + "." + shown,
                    "unknown key" + did_you_mean(entry.key, known));
  }
}

class SeedForm {
 public:
  SeedForm(const Value& document, const CardTypes& types, Diagnostics& diagnostics)
      : document_(document), types_(types), diagnostics_(diagnostics) {}

  Value converted() {
    static const std::vector<std::string> known{"pipeline_id", "name", "nodes", "edges"};
    check_keys(document_, "", known, diagnostics_);
    for_each_map("nodes", [this](const Value& node, const std::string& path) { add_node(node, path); });
    for_each_map("edges", [this](const Value& edge, const std::string& path) { add_edge(edge, path); });
    return assembled();
  }

 private:
  struct Node {
    std::string id;
    int line = 0;
    Value::Map card;
    Value::Map inputs;
  };

  template <class Visit>
  void for_each_map(const std::string& key, Visit visit) {
    const Value* value = document_.find(key);
    if (value == nullptr || value->is_null()) return;
    const auto* list = value->get_if<Value::List>();
    if (list == nullptr) {
      diagnostics_.add(value->line(), key, "must be a list, found " + value->describe());
      return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      const Value& item = (*list)[i];
      const std::string path = fmt::format("{}.{}", key, i);
      if (item.get_if<Value::Map>() != nullptr) {
        visit(item, path);
      } else {
        diagnostics_.add(item.line(), path, "must be a map, found " + item.describe());
      }
    }
  }

  std::optional<std::string> text(const Value& map, const std::string& path, const std::string& key) {
    const Value* value = map.find(key);
    const std::string* found = value == nullptr ? nullptr : value->get_if<std::string>();
    if (found != nullptr) return *found;
    diagnostics_.add(value == nullptr ? map.line() : value->line(), path + "." + key,
                     value == nullptr ? "missing" : "must be text, found " + value->describe());
    return std::nullopt;
  }

  Node* find_node(const std::string& id) {
    for (Node& node : nodes_) {
      if (node.id == id) return &node;
    }
    return nullptr;
  }

  void add_node(const Value& value, const std::string& path) {
    static const std::vector<std::string> known{"id", "type", "config", "position"};
    check_keys(value, path, known, diagnostics_);
    const auto id = text(value, path, "id");
    if (!id) return;
    const int line = value.find("id")->line();
    if (const Node* other = find_node(*id)) {
      diagnostics_.add(line, path + ".id",
                       fmt::format("the id {} is already taken by the node on line {}",
                                   config::in_quotes(*id), other->line));
      return;
    }
    Node node{*id, line, {}, {}};
    for (const char* key : {"type", "config"}) {
      if (const Value* part = value.find(key)) node.card.push_back({key, part->line(), *part});
    }
    if (const Value* position = value.find("position")) add_position(*id, *position, path + ".position");
    nodes_.push_back(std::move(node));
  }

  void add_position(const std::string& id, const Value& position, const std::string& path) {
    const Value* x = position.find("x");
    const Value* y = position.find("y");
    if (x == nullptr || y == nullptr) {
      diagnostics_.add(position.line(), path, "must be a map with x and y, found " + position.describe());
      return;
    }
    layout_.push_back({id, position.line(), Value(Value::List{*x, *y}, position.line())});
  }

  void add_edge(const Value& edge, const std::string& path) {
    static const std::vector<std::string> known{"id", "source", "target", "source_output", "target_input"};
    check_keys(edge, path, known, diagnostics_);
    const auto source = text(edge, path, "source");
    const auto output = text(edge, path, "source_output");
    const auto target = text(edge, path, "target");
    const auto input = text(edge, path, "target_input");
    if (!source || !output || !target || !input) return;
    Node* node = find_node(*target);
    if (node == nullptr) {
      std::vector<std::string> ids;
      for (const Node& each : nodes_) ids.push_back(each.id);
      diagnostics_.add(
          edge.find("target")->line(), path + ".target",
          fmt::format("there is no card {}{}", config::in_quotes(*target), did_you_mean(*target, ids)));
      return;
    }
    const Value connection(*source + "." + *output, edge.line());
    for (Entry& taken : node->inputs) {
      if (taken.key != *input) continue;
      if (auto* list = taken.value.get_if<Value::List>()) return list->push_back(connection);
      diagnostics_.add(edge.line(), path,
                       fmt::format("the input {} of the card {} is already connected, on line {}",
                                   config::in_quotes(*input), config::in_quotes(*target), taken.line));
      return;
    }
    node->inputs.push_back(
        {*input, edge.line(),
         input_takes_several(*node, *input) ? Value(Value::List{connection}, edge.line()) : connection});
  }

  bool input_takes_several(const Node& node, const std::string& name) const {
    for (const Entry& entry : node.card) {
      const auto* type_name = entry.key == "type" ? entry.value.get_if<std::string>() : nullptr;
      const CardType* type = type_name == nullptr ? nullptr : find_card_type(types_, *type_name);
      const Input* input = type == nullptr ? nullptr : find_port(type->inputs, name);
      if (input != nullptr) return takes_several(input->takes);
    }
    return false;
  }

  Value assembled() {
    Value::Map cards;
    for (Node& node : nodes_) {
      if (!node.inputs.empty())
        node.card.push_back({"inputs", node.line, Value(std::move(node.inputs), node.line)});
      cards.push_back({node.id, node.line, Value(std::move(node.card), node.line)});
    }
    Value result(Value::Map{}, document_.line());
    result.set("version", Value(1, document_.line()));
    const Value* name = document_.find("name");
    if (name == nullptr) name = document_.find("pipeline_id");
    if (name != nullptr) result.set("name", *name);
    result.set("cards", Value(std::move(cards), document_.line()));
    if (!layout_.empty()) result.set("layout", Value(std::move(layout_), document_.line()));
    return result;
  }

  const Value& document_;
  const CardTypes& types_;
  Diagnostics& diagnostics_;
  std::vector<Node> nodes_;
  Value::Map layout_;
};

// A setting of a card that is not there is a slip; a whole new card may be given as cards.NAME={...}.
void refuse_unknown_card(const Value& document, const std::string& assignment) {
  const std::string path = assignment.substr(0, assignment.find('='));
  const std::vector<std::string> parts = split_text(path, '.');
  const Value* cards = document.find("cards");
  const auto* known = cards == nullptr ? nullptr : cards->get_if<Value::Map>();
  if (known == nullptr || parts.size() < 3 || parts[0] != "cards" || cards->find(parts[1]) != nullptr) return;
  std::vector<std::string> ids;
  for (const Entry& entry : *known) ids.push_back(entry.key);
  std::string hint = did_you_mean(parts[1], ids);
  if (hint.empty()) hint = ".";
  refuse("--set {}: there is no card {}{} The cards are {}", config::shown(path), config::in_quotes(parts[1]),
         hint, join(ids, ", "));
}

}  // namespace

bool is_seed_form(const Value& document) {
  return document.find("nodes") != nullptr && document.find("cards") == nullptr;
}

Value from_seed_form(const Value& document, const CardTypes& types, Diagnostics& diagnostics) {
  return SeedForm(document, types, diagnostics).converted();
}

Value in_todays_form(const Value& document, const CardTypes& types, Diagnostics& diagnostics) {
  if (is_trainrun_form(document)) return from_trainrun_form(document, diagnostics);
  return is_seed_form(document) ? from_seed_form(document, types, diagnostics) : document;
}

Value load_with(const std::vector<std::string>& assignments, const std::filesystem::path& path,
                const CardTypes& types, Diagnostics& diagnostics) {
  Value value = config::load_document(path);
  if (is_trainrun_form(value)) value = with_files_of_trainrun(std::move(value), path);
  if (assignments.empty()) return value;
  value = in_todays_form(value, types, diagnostics);
  diagnostics.refuse_if_any();
  for (const std::string& assignment : assignments) {
    refuse_unknown_card(value, assignment);
    config::set_path(value, assignment);
  }
  return value;
}

}  // namespace stoker
