#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/field.h"
#include "data/table/table.h"
#include "device/array.h"
#include "model/model.h"
#include "train/fit/spec.h"

namespace stoker {

// What flows from card to card.
// The last three are parts of one training step (train/explain/plain_step.h), as arrays.
enum class PortType { table, model_spec, model, report, arrays, batch, network, optimizer };

struct Port {
  std::string name;
  PortType type = PortType::table;
  std::string help;
};

// What becomes of the rows of a table, for whoever must know before the card runs.
enum class Rows {
  read,
  trained_on,
  tested_on,  // with the model that the card takes
  chosen_by,  // something about the models that the card takes, which must not know them
  passed_on,  // each row that the card puts out is one of them
  joined,     // to those of another input, table by table, under names that a model has for them
};
// How many connections an input takes. A card gets those of one input in the order of the document, and none
// of an input that is not connected.
enum class Takes { one, at_most_one, at_least_one, any_number };
constexpr bool must_be_connected(Takes takes) {
  return takes == Takes::one || takes == Takes::at_least_one;
}
constexpr bool takes_several(Takes takes) {
  return takes == Takes::at_least_one || takes == Takes::any_number;
}
struct Input : Port {
  Rows rows = Rows::read;
  Takes takes = Takes::one;
};

// What people find of an output in the run folder, beside the preview of a table.
enum class Keep { nothing, model, training, evaluation, predictions, report };
struct Output : Port {
  Keep keep = Keep::nothing;
};

// A report is JSON: metrics, curves, whatever a card wants to show. Arrays lie on the host.
using PortValue = std::variant<Table, ModelSpec, std::shared_ptr<const Model>,
                               std::shared_ptr<const nlohmann::json>, std::shared_ptr<const NamedArrays>>;
using PortValues = std::map<std::string, PortValue>;
using InputValues = std::map<std::string, std::vector<PortValue>>;  // of those that are connected

// What it carries, and how many of it: "table", "table, one or more".
std::string port_text(const Input& input);
std::string port_text(const Output& output);

// Null when there is none of that name.
template <class AnyPort>
const AnyPort* find_port(const std::vector<AnyPort>& ports, const std::string& name) {
  for (const AnyPort& port : ports)
    if (port.name == name) return &port;
  return nullptr;
}

template <class AnyPort>
std::vector<std::string> port_names(const std::vector<AnyPort>& ports) {
  std::vector<std::string> names;
  for (const AnyPort& port : ports) names.push_back(port.name);
  return names;
}

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 8> stoker::config::names<stoker::PortType>{
    "table", "model_spec", "model", "report", "arrays", "batch", "network", "optimizer"};
