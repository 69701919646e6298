#include "model/experts/expert_memory.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "model/experts/expert_graph.h"
#include "model/experts/expert_shape.h"

namespace stoker {
namespace {

using nlohmann::json;

// Weights, two moments, the best weights and what they are read from.
constexpr std::uint64_t bytes_of_weight = 5 * sizeof(float);

}  // namespace

std::string room_problem_of_experts(const Network& network, std::uint64_t bytes) {
  const ExpertShape shape = expert_shape(network).value();
  const auto room = static_cast<std::uint64_t>(shape.room());
  std::uint64_t of_expert = static_cast<std::uint64_t>(shape.router_width()) + 1;
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer)
    of_expert += static_cast<std::uint64_t>(shape.layer_outputs(layer)) *
                 (static_cast<std::uint64_t>(shape.layer_inputs(layer)) + 1);
  const std::uint64_t router =
      static_cast<std::uint64_t>(shape.router_width()) * (static_cast<std::uint64_t>(shape.inputs) + 1);
  const std::uint64_t needed = bytes_of_weight * (router + room * of_expert);
  if (needed <= bytes) return "";
  const std::uint64_t left = bytes / bytes_of_weight;
  const std::uint64_t fitting = left > router ? (left - router) / of_expert : 0;
  return fmt::format("room for {} experts takes {}, and {} are free; {}", room, human_bytes(needed),
                     human_bytes(bytes),
                     fitting == 0 ? "not even one fits: make hidden_layers smaller"
                                  : fmt::format("set max_experts to {} or less", fitting));
}

json begin_lives(const Network& network) {
  const ExpertShape shape = expert_shape(network).value();
  const ExpertLife& life = shape.settings.life;
  KnowledgeGraph graph;
  for (std::int64_t e = 0; e < shape.settings.experts; ++e) {
    ExpertNode node;
    node.number = e;
    node.place = e;
    graph.nodes.push_back(std::move(node));
  }
  return {{"graph", to_json(graph)},
          {"next_number", shape.settings.experts},
          {"next_look", life.growth ? life.growth_interval : -1},
          {"next_sleep", life.sleep ? life.sleep_shortest : -1},
          {"sleep_interval", life.sleep_shortest},
          {"last_sleep", 0},
          {"stage_began", 0},
          {"may_rest", true},
          {"sleeps", 0},
          {"hesitation", nullptr},
          {"patience", 0},
          {"birth_patience", 1},
          {"events", json::array()},
          {"moments", json::array()}};
}

void check_lives(const Network& network, const json& memory) {
  const ExpertShape shape = expert_shape(network).value();
  try {
    for (const char* name : {"next_number", "next_look", "next_sleep", "sleep_interval", "last_sleep",
                             "sleeps", "patience", "birth_patience"})
      if (memory.at(name).get<std::int64_t>() < -1) refuse("the memory of the experts has a negative number");
    if (memory.value("stage_began", std::int64_t{0}) < 0)
      refuse("the memory of the experts has a negative number");
    static_cast<void>(memory.value("may_rest", true));  // refuses what is neither
    if (memory.value("epoch_stride", std::int64_t{1}) < 1 ||
        !memory.value("epochs", json::array()).is_array())
      refuse("the memory of the experts has epochs that cannot be");
    if (!memory.at("events").is_array() || !memory.at("moments").is_array() ||
        !(memory.at("hesitation").is_null() || memory.at("hesitation").is_number()))
      refuse("this is no memory of experts");
    for (const ExpertNode& each : graph_from_json(memory.at("graph")).nodes)
      if (each.place >= shape.room())
        refuse("the memory of the experts has more of them than there is room for");
  } catch (const json::exception& error) {
    refuse("this is no memory of experts: {}", error.what());
  }
}

std::int64_t next_step_of_lives(const Network&, const json& memory) {
  constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  std::int64_t next = never;
  for (const char* name : {"next_look", "next_sleep"})
    if (const auto step = memory.at(name).get<std::int64_t>(); step >= 0) next = std::min(next, step);
  return next == never ? next : next - memory.value("stage_began", std::int64_t{0});
}

std::int64_t rows_to_remember(const Network& network) {
  return expert_shape(network).value().settings.life.replay_rows;
}

std::int64_t epochs_between_expert_records(const json& memory) {
  return memory.value("epoch_stride", std::int64_t{1});
}

void remember_epoch(json epoch, json& memory) {
  if (!memory.contains("epochs")) memory["epochs"] = json::array();
  json& epochs = memory["epochs"];
  epochs.push_back(std::move(epoch));
  if (epochs.size() <= most_expert_epochs) return;
  memory["epoch_stride"] = 2 * epochs_between_expert_records(memory);
  json every_other = json::array();  // multiples of the new stride
  for (std::size_t i = 1; i < epochs.size(); i += 2) every_other.push_back(std::move(epochs[i]));
  memory["epochs"] = std::move(every_other);
}

void remember_events(const std::vector<StructureEvent>& events, json& memory) {
  json& all = memory["events"];
  for (const StructureEvent& each : events)
    all.push_back({{"step", each.step}, {"kind", each.kind}, {"text", each.text}});
  while (all.size() > most_expert_events) all.erase(0);
}

}  // namespace stoker
