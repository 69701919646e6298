#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/field.h"
#include "model/experts/expert_life.h"
#include "model/network.h"

namespace stoker {

// A router sends each row to a few of many experts, multi-layer perceptrons of one shape, and mixes what they
// answer. Experts are born, merged and removed while it trains: their arrays have room for max_experts, of
// which those count that are alive.
struct ExpertSettings {
  std::int64_t experts = 8;
  std::int64_t max_experts = 32;
  std::int64_t top_k = 2;
  std::vector<std::int64_t> hidden_layers{256, 256};
  double dropout = 0;
  double temperature = 1;
  double router_noise = 0;
  double router_exploration = 0;
  double load_balance = 0.01;
  double router_z = 0;
  ExpertLife life;
};

inline config::Fields fields(ExpertSettings& c) {
  config::Fields all{
      config::field("experts", c.experts, "mixture_of_experts: number of experts that it begins with")
          .within(1, 1024),
      config::field(
          "max_experts", c.max_experts,
          "mixture_of_experts: number of experts that it may grow to; room for all of them is taken "
          "at the start")
          .within(1, 1024),
      config::field("top_k", c.top_k, "mixture_of_experts: number of experts that answer for a row")
          .within(1, 64),
      config::field("hidden_layers", c.hidden_layers,
                    "Width of each hidden layer; of each expert in mixture_of_experts, [256, 256] if not set")
          .within(1, 65536)
          .not_empty(),
      config::field("dropout", c.dropout,
                    "Share of each hidden layer's outputs that a training step leaves out")
          .at_least(0)
          .below(1),
      config::field("temperature", c.temperature,
                    "mixture_of_experts: what the router's scores are divided by; above 1 it hesitates more")
          .within(0.001, 1000),
      config::field("router_noise", c.router_noise,
                    "mixture_of_experts: deviation of the noise that training adds to the router's scores")
          .within(0, 1000),
      config::field("router_exploration", c.router_exploration,
                    "mixture_of_experts: share of the training rows that go to experts drawn at random "
                    "instead of those that the router likes best, anew in every step, so that each expert "
                    "learns from more of the rows; in the second half of the training it falls to 0. 0: none")
          .within(0, 1),
      config::field(
          "load_balance", c.load_balance,
          "mixture_of_experts: weight of the loss that keeps experts equally busy (1 at best); 0: none. "
          "Documents of version 1 that do not set it have 0")
          .within(0, 1000),
      config::field("router_z", c.router_z,
                    "mixture_of_experts: weight of the loss that keeps the router's scores small; 0: none")
          .within(0, 1000),
  };
  for (auto& field : fields(c.life)) all.push_back(std::move(field));
  return all;
}

// A network of the family.
struct ExpertShape {
  ExpertSettings settings;
  std::int64_t inputs = 0;
  std::int64_t outputs = 1;  // of an expert, and of the network without its losses of its own

  std::int64_t room() const { return settings.max_experts; }
  std::int64_t router_width() const { return inputs > 1 ? inputs / 2 : 1; }
  std::size_t layer_count() const { return settings.hidden_layers.size() + 1; }
  std::int64_t layer_inputs(std::size_t layer) const {
    return layer == 0 ? inputs : settings.hidden_layers[layer - 1];
  }
  std::int64_t layer_outputs(std::size_t layer) const {
    return layer < settings.hidden_layers.size() ? settings.hidden_layers[layer] : outputs;
  }
  // Outputs of a network behind those of its experts, each a loss: first load_balance, then router_z.
  bool has_balance() const { return settings.load_balance > 0; }
  bool has_z() const { return settings.router_z > 0; }
};

inline constexpr const char* experts_family = "mixture_of_experts";
// Outputs that are losses of its own.
std::int64_t losses_behind(const ExpertSettings& settings);
// None of a network of another family.
std::optional<ExpertShape> expert_shape(const Network& network);

// Numbers that are trained, of one expert, and of a router among so many of them.
std::int64_t parameters_of_one_expert(const ExpertShape& shape);
std::int64_t parameters_of_router(const ExpertShape& shape, std::int64_t experts);

// Names of parameters: [max_experts, outputs, inputs] and [max_experts, outputs] of a layer of all experts.
std::string expert_weight(std::size_t layer);
std::string expert_bias(std::size_t layer);

// Buffers. Which experts live, 1 or 0; and what training counts of them from one sleep to the next: rows that
// the router likes each best for, steps since it did so, how often one (the column) was liked besides the
// first choice (the row of the array), and the sum of the router's hesitation with the number of rows.
// Experts that are drawn (router_exploration) answer in place of those, and are not counted.
inline constexpr const char* alive_name = "alive";                    // [max_experts]
inline constexpr const char* activations_name = "usage.activations";  // [max_experts]
inline constexpr const char* idle_steps_name = "usage.idle_steps";    // [max_experts]
inline constexpr const char* followers_name = "usage.followers";      // [max_experts, max_experts]
inline constexpr const char* hesitation_name = "usage.hesitation";    // [2]

}  // namespace stoker
