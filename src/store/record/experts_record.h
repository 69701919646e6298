#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/experts/expert_graph.h"
#include "model/experts/expert_memory.h"
#include "store/record/record_part.h"

namespace stoker {

// How the experts of a mixture lived while it was trained, as experts/CARD.json of a run folder has it.
struct ExpertsRecord {
  struct Node {
    std::int64_t number = 0;  // of an expert; never used again
    std::int64_t parent = -1;
    double rows = 0;            // that it answered for since the sleep before
    double activations = 0;     // the same since its birth
    double specialisation = 0;  // 0 to 1
    double adaptation_rate = 0;
    std::vector<double> classes;  // its share in the answers for each; empty where that is not known
  };
  using Edge = ExpertEdge;
  struct Moment {
    std::int64_t step = 0;
    std::int64_t epoch = 0;   // that the step lies in, from 1
    double hesitation = 0;    // of the router at its last look; NaN: not known
    std::vector<Node> nodes;  // those that lived, by number
    std::vector<Edge> edges;
  };
  struct Event {
    std::int64_t step = 0;
    std::string kind;  // born, merged, removed, slept
    std::string text;  // for people
  };

  std::string device;
  std::int64_t steps = 0;
  std::int64_t steps_per_epoch = 1;
  std::int64_t top_k = 1;
  std::int64_t room = 0;               // for experts
  std::int64_t parameters = 0;         // of the router and of the experts that live at the end
  std::int64_t active_parameters = 0;  // of them, those that answer for a row
  std::vector<std::string> classes;    // names; none of a target of numbers
  std::vector<Event> events;           // by step
  std::vector<Moment> moments;         // of some sleeps, by step, the last among them
  std::vector<Moment> epochs;          // at the ends of some epochs, by step
  Moment last;                         // when the training ended

  // What pictures show one after the other: the ends of epochs with the end of the training, or sleeps in
  // runs of earlier versions.
  std::vector<const Moment*> moments_over_time() const;
  // A mixture remembers no more; what came before the first of so many is not known.
  bool has_all_events() const { return events.size() < most_expert_events; }
  std::int64_t epoch_of(std::int64_t step) const { return step < 1 ? 1 : (step - 1) / steps_per_epoch + 1; }
};

nlohmann::json to_json(const ExpertsRecord& record);
ExpertsRecord experts_from(const RecordPart& part);  // refuses what is none

// By the step after which there were so many; the first by step 0. Told backwards from the end, because the
// earliest of very many events are not kept.
struct LivingExperts {
  std::int64_t step = 0;
  std::int64_t count = 0;
};
std::vector<LivingExperts> living_experts(const ExpertsRecord& record);

}  // namespace stoker
