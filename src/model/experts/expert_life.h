#pragma once

#include <cstdint>

#include "config/field.h"

namespace stoker {

// When experts are born, merged and removed.
struct ExpertLife {
  bool growth = true;
  double expert_creation_uncertainty = 0.3;
  std::int64_t growth_interval = 500;
  bool sleep = true;
  std::int64_t sleep_shortest = 500;
  std::int64_t sleep_longest = 2000;
  std::int64_t replay_rows = 2000;
  bool merging = true;
  double merge_similarity = 0.8;
  bool pruning = true;
  std::int64_t prune_idle_steps = 5000;
  std::int64_t prune_activations = 100;
  std::int64_t newborn_steps = 2000;
  double newest_kept = 0.99;
};

inline config::Fields fields(ExpertLife& c) {
  return {
      config::field("growth", c.growth, "mixture_of_experts: whether new experts are born"),
      config::field("expert_creation_uncertainty", c.expert_creation_uncertainty,
                    "mixture_of_experts: how much the router must hesitate (0: never, 1: all experts are the "
                    "same to it) for an expert to be born")
          .within(0, 1),
      config::field("growth_interval", c.growth_interval,
                    "mixture_of_experts: steps from one look at the router's hesitation to the next; at most "
                    "one expert is born at each")
          .within(1, 1'000'000'000),
      config::field("sleep", c.sleep,
                    "mixture_of_experts: whether training pauses now and then to put the experts in order"),
      config::field("sleep_shortest", c.sleep_shortest,
                    "mixture_of_experts: fewest steps from one sleep to the next")
          .within(1, 1'000'000'000),
      config::field("sleep_longest", c.sleep_longest,
                    "mixture_of_experts: most steps from one sleep to the next")
          .within(1, 1'000'000'000),
      config::field("replay_rows", c.replay_rows,
                    "mixture_of_experts: training rows that are remembered for the sleeps")
          .within(1, 1'000'000),
      config::field("merging", c.merging, "mixture_of_experts: whether sleeps merge experts that are alike"),
      config::field("merge_similarity", c.merge_similarity,
                    "mixture_of_experts: how alike two experts must be to be merged, by 0.6 times the cosine "
                    "of their weights and 0.4 times that of the rows they answer for")
          .within(0, 1),
      config::field("pruning", c.pruning,
                    "mixture_of_experts: whether sleeps remove experts that nobody asks"),
      config::field("prune_idle_steps", c.prune_idle_steps,
                    "mixture_of_experts: steps without a single row after which an expert is removed")
          .within(1, 1'000'000'000),
      config::field(
          "prune_activations", c.prune_activations,
          "mixture_of_experts: rows that an expert must have answered for in prune_idle_steps to stay")
          .within(0, 1'000'000'000),
      config::field("newborn_steps", c.newborn_steps,
                    "mixture_of_experts: steps for which a new expert is neither merged nor removed")
          .within(0, 1'000'000'000),
      config::field(
          "newest_kept", c.newest_kept,
          "mixture_of_experts, in stages without replay: share of the rows of the newest stage that "
          "the gate must leave to its own experts; with less, more is left of the classes of earlier "
          "stages")
          .within(0, 1),
  };
}

}  // namespace stoker
