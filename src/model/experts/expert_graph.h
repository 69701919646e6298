#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/field.h"

namespace stoker {

// What is known of an expert. Places in the arrays are used again after an expert is gone; numbers are not.
struct ExpertNode {
  std::int64_t number = 0;
  std::int64_t place = 0;
  std::int64_t born_step = 0;
  std::int64_t parent = -1;  // the number of the expert that it began as a copy of
  double activations = 0;    // rows that it answered for since its birth
  std::int64_t last_active_step = 0;
  // 0: it answers for all alike; 1: for one class, or one value of the target, alone.
  double specialisation = 0;
  double adaptation_rate = 0;            // 1: all that it learns points one way; 0: it has settled
  std::vector<std::int64_t> seen_steps;  // of the last sleeps: steps before each
  std::vector<double> seen_rows;         // and rows that it answered for in them
  std::vector<double> classes;           // share of the rows remembered of each class that it answers for
  std::int64_t stage = 0;                // in which it was born
  bool rests = false;                    // it is not asked before the stage is over, and stays as it is
};

enum class ExpertTie : std::uint8_t { similar, follows, specialises };

struct ExpertEdge {
  std::int64_t from = 0;  // numbers of experts
  std::int64_t to = 0;
  ExpertTie tie = ExpertTie::similar;
  double weight = 0;
};

struct KnowledgeGraph {
  std::vector<ExpertNode> nodes;  // by number
  std::vector<ExpertEdge> edges;  // of those that live

  ExpertNode* find(std::int64_t number);
  const ExpertNode* at_place(std::int64_t place) const;
  ExpertNode* at_place(std::int64_t place);
  void remove(std::int64_t number);  // with its edges
  // One of `room` places that no expert has, or -1.
  std::int64_t free_place(std::int64_t room) const;
};

// Every number comes back bit for bit.
nlohmann::json to_json(const KnowledgeGraph& graph);
// Refuses a graph of nodes that share places or numbers, or of edges between those that are not there.
KnowledgeGraph graph_from_json(const nlohmann::json& json);

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::ExpertTie>{
    "similar", "follows", "specialises"};
