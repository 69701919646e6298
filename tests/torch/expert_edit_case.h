#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/edits_in_place.h"
#include "model/experts/expert_graph.h"
#include "model/experts/expert_lives.h"
#include "model/experts/experts_on_host.h"
#include "torch/expert_case.h"
#include "torch/training_case.h"

// Edits of experts where an engine has them, held against those of the same state on the host: one body for
// all such engines.
namespace stoker::test {

// Layers whose units are compared by sums, behind the inputs and behind others, or by their values; units of
// more than one tile; optimisers with fewer moments.
inline std::vector<ExpertCase> expert_edit_cases() {
  return {{.name = "Plain"},
          {.name = "OneHidden", .experts = 5, .room = 40, .top_k = 1, .columns = 250, .hidden = {33}},
          {.name = "Wide", .columns = 20, .hidden = {150, 199, 21}},
          {.name = "WideByTiles", .outputs = 1, .has_classes = false, .columns = 197, .hidden = {140, 9}},
          {.name = "Momentum", .optimizer = Optimizer::sgd, .weight_decay = 0.001},
          {.name = "Temperature", .temperature = 2, .noise = 0.5, .exploration = 0.5}};
}

inline std::unique_ptr<StructureHandle> structure_of(Engine& engine) {
  return dynamic_cast<EditsInPlace&>(engine).structure();
}

inline void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                        double within) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], within) << i;
}

// Parameters and moments, relative to the largest of each.
inline double difference_of_experts(const NamedArrays& found, const NamedArrays& expected) {
  NamedArrays weights;
  for (const NamedArray& each : found)
    if (each.array.type() == DType::float32) weights.push_back(each);
  return largest_difference(weights, expected);
}

inline std::vector<ExpertPair> pairs_among(std::int64_t experts) {
  std::vector<ExpertPair> pairs;
  for (std::int64_t one = 0; one < experts; ++one)
    for (std::int64_t other = one + 1; other < experts; ++other) pairs.push_back({one, other});
  return pairs;
}

inline void expect_same_buffers(ExpertState& found, ExpertState& expected) {
  for (const char* each : {alive_name, activations_name, idle_steps_name, followers_name, hesitation_name})
    EXPECT_TRUE(std::ranges::equal(found.values(each), expected.values(each))) << each;
}

// What is asked of a state.
inline void expect_the_answers_of_the_host(ExpertState& found, ExpertState& expected, const Dataset& rows,
                                           std::int64_t experts) {
  expect_same_buffers(found, expected);
  const ExpertRoutes routes = found.route(rows), wanted = expected.route(rows);
  EXPECT_EQ(routes.chosen, wanted.chosen);
  for (std::size_t i = 0; i < wanted.shares.size(); ++i)
    EXPECT_NEAR(routes.shares[i], wanted.shares[i], 1e-4);
  for (std::size_t i = 0; i < wanted.hesitation.size(); ++i)
    EXPECT_NEAR(routes.hesitation[i], wanted.hesitation[i], 1e-4);
  const std::vector<ExpertPair> pairs = pairs_among(experts);
  expect_near(found.cosines_of_rows(routes, rows, pairs), expected.cosines_of_rows(wanted, rows, pairs),
              1e-4);
  std::vector<std::int64_t> places;
  for (std::int64_t i = experts - 1; i >= 0; --i) places.push_back(i);
  expect_near(found.adaptation_of(places), expected.adaptation_of(places), 1e-5);
  expect_near(found.align(pairs), expected.align(pairs), 1e-4);
}

// A birth, whose copy is merged with its parent again, and a removal: what is left, of weights and moments,
// and who lives. The engine trains on with it as another does that is given the host's.
inline void expect_the_changes_of_the_host(Engine& engine, Engine& other, const EngineRequest& request,
                                           std::int64_t experts) {
  const ExpertShape shape = expert_shape(request.network).value();
  engine.run({0, std::vector<float>(5, 0.01F)});
  const NamedArrays before = engine.state();
  NamedArrays state = before;
  ExpertsOnHost host(shape, state);
  const auto handle = structure_of(engine);
  auto& found = dynamic_cast<ExpertState&>(*handle);
  Dataset rows = request.training;
  for (DatasetArray& each : rows.arrays) each.array = each.array.to_host();
  {
    SCOPED_TRACE("before anything was changed");
    expect_the_answers_of_the_host(found, host, rows, experts);
  }
  for (ExpertState* each : {static_cast<ExpertState*>(&host), &found}) {
    each->bear(1, experts, random_key(7, Purpose::structure, 3));
    each->clear_usage();
    each->clear_hesitation();
  }
  expect_same_buffers(found, host);
  {
    SCOPED_TRACE("after a birth");
    expect_the_answers_of_the_host(found, host, rows, experts + 1);
  }
  EXPECT_LT(difference_of_experts(engine.state(), state), 1e-6);
  const std::vector<ExpertPair> pairs{{0, 2}, {1, experts}};
  EXPECT_GT(host.align(pairs)[1], 0.99);
  EXPECT_GT(found.align(pairs)[1], 0.99);
  for (ExpertState* each : {static_cast<ExpertState*>(&host), &found}) {
    each->merge(0, 0.3);
    each->merge(1, 0.75);
    each->remove(3, 1, 0.2);
  }
  expect_same_buffers(found, host);
  const NamedArrays edited = engine.state();
  EXPECT_LT(difference_of_experts(edited, state), 1e-5);
  for (const NamedArray& each : edited) {
    if (!each.name.starts_with("best_parameters.") && each.name != "counters") continue;
    EXPECT_TRUE(same_bits({each}, {{each.name, find_array(before, each.name)}})) << each.name;
  }
  other.restore(edited);
  run_epochs(engine, request, 1, 7, 5);
  run_epochs(other, request, 1, 7, 5);
  EXPECT_TRUE(same_bits(engine.state(), other.state()));
}

// All that a family does in a look and a sleep: the same decisions, told in the same words.
inline EngineRequest lively_request(const ExpertCase& each) {
  EngineRequest request = expert_request(each);
  ExpertSettings settings = expert_settings_of(each);
  settings.life.expert_creation_uncertainty = 0.05;
  settings.life.growth_interval = 5;
  settings.life.sleep_shortest = 5;
  settings.life.newborn_steps = 1;
  settings.life.merge_similarity = 0.7;
  settings.life.prune_idle_steps = 7;
  request.network.settings = config::write(settings);
  return request;
}

inline void expect_the_decisions_of_the_host(Engine& engine, const EngineRequest& request,
                                             bool has_merges = true) {
  Dataset rows = request.training;
  for (DatasetArray& each : rows.arrays) each.array = each.array.to_host();
  const Restructuring& family = lives_of_experts();
  nlohmann::json memory = family.begin(request.network), of_host = memory;
  std::size_t born = 0, merged = 0;
  for (std::int64_t step = 0; step < 60; step += 5) {
    engine.run({step, std::vector<float>(5, 0.01F)});
    const StructureMoment moment{request.network, step + 5, request.seed, rows};
    NamedArrays state = engine.state();
    const std::vector<StructureEvent> expected = family.edit(moment, state, of_host);
    const auto handle = structure_of(engine);
    const std::vector<StructureEvent> events = family.edit_in_place(moment, *handle, memory);
    ASSERT_EQ(events.size(), expected.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].text, expected[i].text);
      born += events[i].kind == "born" ? 1 : 0;
      merged += events[i].kind == "merged" ? 1 : 0;
    }
    EXPECT_LT(difference_of_experts(engine.state(), state), 1e-5);
    ASSERT_EQ(memory.at("graph").at("nodes").size(), of_host.at("graph").at("nodes").size());
    of_host = memory;  // numbers are rounded otherwise
  }
  EXPECT_GT(born, 0U);
  EXPECT_TRUE(merged > 0 || !has_merges);
}

}  // namespace stoker::test
