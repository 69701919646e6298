// Births, merges and removals of experts, and what is known of them.
#include "model/experts/experts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "model/experts/expert_answers.h"
#include "model/experts/expert_graph.h"
#include "model/experts/expert_likeness.h"
#include "model/experts/expert_lives.h"
#include "model/experts/expert_memory.h"
#include "model/experts/expert_surgery.h"
#include "model/family.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t expert_columns = 7;

ExpertSettings small_experts() {
  ExpertSettings settings;
  settings.load_balance = 0;
  settings.experts = 3;
  settings.max_experts = 6;
  settings.hidden_layers = {12, 8};
  return settings;
}

Network network_with(const ExpertSettings& settings, std::int64_t outputs = 3) {
  return {"mixture_of_experts",
          config::write(settings),
          {table_features(DType::float32, expert_columns)},
          outputs};
}

// As an engine tells its state.
NamedArrays state_of(const Network& network, std::uint64_t seed = 1) {
  NamedArrays state;
  const auto specs = parameter_specs(network);
  const NamedArrays parameters = initial_parameters(network, seed);
  for (const NamedArray& each : parameters) state.push_back({"parameters." + each.name, each.array});
  for (const char* moment : {"first_moment.", "second_moment."})
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (!specs[i].is_trained) continue;
      Array values = parameters[i].array.clone();
      for (float& each : values.as<float>()) each = std::abs(each) * 0.1F;
      state.push_back({moment + specs[i].name, values});
    }
  state.push_back({"counters", Array(DType::int64, {3})});
  return state;
}

Dataset some_rows(std::int64_t rows, std::int64_t classes = 3) {
  const RandomKey key = random_key(4, Purpose::sample, 0);
  Array features(DType::float32, {rows, expert_columns});
  Array targets(DType::int64, {rows});
  std::uint32_t index = 0;
  for (float& each : features.as<float>()) each = static_cast<float>(normal(key, index++));
  for (std::int64_t& each : targets.as<std::int64_t>())
    each = static_cast<std::int64_t>(uniform(key, index++) * static_cast<double>(classes));
  return {{{"features", Role::features, features}, {"targets", Role::targets, targets}}};
}

// What must hold after every change: a graph that knows exactly who lives, and nothing left of who does not.
void expect_consistent(const Network& network, const NamedArrays& state, const json& memory) {
  const ExpertShape shape = expert_shape(network).value();
  lives_of_experts().check(network, memory);
  const KnowledgeGraph graph = graph_from_json(memory.at("graph"));
  const auto alive = find_array(state, "parameters.alive").as<float>();
  std::int64_t living = 0;
  for (std::int64_t e = 0; e < shape.room(); ++e) {
    const bool lives = alive[static_cast<std::size_t>(e)] == 1;
    living += lives ? 1 : 0;
    ASSERT_TRUE(lives || alive[static_cast<std::size_t>(e)] == 0);
    ASSERT_EQ(lives, graph.at_place(e) != nullptr) << e;
    for (const NamedArray& each : state) {
      const bool is_theirs = each.name.find("experts.") != std::string::npos ||
                             each.name.find("router.outer") != std::string::npos;
      if (!is_theirs) continue;
      const auto values = each.array.as<float>();
      const std::size_t size = values.size() / static_cast<std::size_t>(shape.room());
      const auto own = values.subspan(static_cast<std::size_t>(e) * size, size);
      ASSERT_TRUE(std::ranges::all_of(own, [](float v) { return std::isfinite(v); })) << each.name;
      const bool is_nothing = std::ranges::all_of(own, [](float v) { return v == 0; });
      ASSERT_TRUE(lives || is_nothing) << each.name << " of " << e;
    }
  }
  ASSERT_GE(living, shape.settings.top_k);
  ASSERT_EQ(living, std::ssize(graph.nodes));
  NamedArrays parameters;
  for (const NamedArray& each : state)
    if (each.name.starts_with("parameters.")) parameters.push_back({each.name.substr(11), each.array});
  const ExpertAnswers answers = expert_answers(shape, parameters, some_rows(5).features(), 0, 5);
  for (const std::int32_t each : answers.chosen) ASSERT_EQ(alive[static_cast<std::size_t>(each)], 1);
}

TEST(Experts, AnUnbornOneIsNothing) {
  const Network network = network_with(small_experts());
  expect_consistent(network, state_of(network), lives_of_experts().begin(network));
}

TEST(Experts, SettingsThatContradictEachOtherAreRefused) {
  const auto problem_of = [](ExpertSettings settings) {
    config::Diagnostics diagnostics("a document");
    checked_settings(mixture_of_experts(), config::write(settings), "", diagnostics);
    try {
      diagnostics.refuse_if_any();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  ExpertSettings settings = small_experts();
  EXPECT_EQ(problem_of(settings), "");
  settings.top_k = 4;
  EXPECT_THAT(problem_of(settings), HasSubstr("4 experts cannot answer for a row where there are 3"));
  settings = small_experts();
  settings.experts = 7;
  EXPECT_THAT(problem_of(settings), HasSubstr("7 experts are more than max_experts, which is 6"));
  settings = small_experts();
  settings.life.sleep_shortest = 3000;
  EXPECT_THAT(problem_of(settings), HasSubstr("more than sleep_longest"));
  settings = small_experts();
  settings.life.merge_similarity = 1.5;
  EXPECT_THAT(problem_of(settings), HasSubstr("merge_similarity"));
  settings = small_experts();
  settings.temperature = 0;
  EXPECT_THAT(problem_of(settings), HasSubstr("temperature"));
  for (const double share : {-0.1, 1.01, std::nan("")}) {
    settings = small_experts();
    settings.router_exploration = share;
    EXPECT_THAT(problem_of(settings), HasSubstr("router_exploration")) << share;
  }
}

// The same expert with its hidden units in another order.
TEST(Experts, AreAlikeWhateverTheOrderOfTheirUnits) {
  const Network network = network_with(small_experts());
  const ExpertShape shape = expert_shape(network).value();
  NamedArrays state = state_of(network);
  ExpertArrays arrays(shape, state);
  EXPECT_LT(align(arrays, {{{0, 1}}}).front().cosine, 0.8);
  std::vector<std::vector<std::size_t>> order;
  for (std::size_t layer = 0; layer + 1 < shape.layer_count(); ++layer) {
    std::vector<std::size_t> units(static_cast<std::size_t>(shape.layer_outputs(layer)));
    std::iota(units.begin(), units.end(), std::size_t{0});
    std::ranges::rotate(units, units.begin() + 3);
    std::swap(units[0], units[5]);
    order.push_back(units);
  }
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
    const auto inputs = static_cast<std::size_t>(shape.layer_inputs(layer));
    const auto outputs = static_cast<std::size_t>(shape.layer_outputs(layer));
    const auto weights = arrays.change("parameters." + expert_weight(layer));
    const auto biases = arrays.change("parameters." + expert_bias(layer));
    for (std::size_t out = 0; out < outputs; ++out) {
      const std::size_t from = layer < order.size() ? order[layer][out] : out;
      biases[outputs + out] = biases[from];
      for (std::size_t in = 0; in < inputs; ++in) {
        const std::size_t read = layer == 0 ? in : order[layer - 1][in];
        weights[(outputs + out) * inputs + in] = weights[from * inputs + read];
      }
    }
  }
  const AlignedExperts aligned = align(arrays, {{{0, 1}}}).front();
  EXPECT_NEAR(aligned.cosine, 1, 1e-5);
  // Merged, they are what each of them was.
  const std::vector<float> before(arrays.layer(0, 1).weight.begin(), arrays.layer(0, 1).weight.end());
  arrays.merge(0, 1, 0.3, aligned.units);
  const auto after = arrays.layer(0, 1).weight;
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-5);
  EXPECT_FALSE(arrays.is_alive(1));
}

TEST(Experts, ANewbornIsLikeItsParentAndRemembersNothing) {
  const Network network = network_with(small_experts());
  const ExpertShape shape = expert_shape(network).value();
  NamedArrays state = state_of(network);
  const NamedArrays before = state;
  ExpertArrays arrays(shape, state);
  arrays.bear(1, 3, random_key(1, Purpose::structure, 0));
  EXPECT_TRUE(arrays.is_alive(3));
  EXPECT_GT(align(arrays, {{{1, 3}}}).front().cosine, 0.99);
  EXPECT_LT(align(arrays, {{{1, 3}}}).front().cosine, 0.99999);
  EXPECT_EQ(arrays.adaptation_of(3), 0);
  EXPECT_GT(arrays.adaptation_of(1), 0);
  // Those who had the arrays before see nothing of it.
  EXPECT_EQ(find_array(before, "parameters.alive").as<float>()[3], 0);
}

ExpertSettings lively() {
  ExpertSettings settings = small_experts();
  settings.life.growth_interval = 10;
  settings.life.sleep_shortest = 10;
  settings.life.sleep_longest = 40;
  settings.life.newborn_steps = 15;
  settings.life.prune_idle_steps = 30;
  settings.life.prune_activations = 5;
  return settings;
}

void count(NamedArrays& state, const char* name, std::size_t place, float value) {
  for (NamedArray& each : state)
    if (each.name == std::string("parameters.") + name) each.array.as<float>()[place] = value;
}

std::vector<StructureEvent> edited(const Network& network, std::int64_t step, NamedArrays& state,
                                   json& memory) {
  const Dataset rows = some_rows(40);
  return lives_of_experts().edit({network, step, 7, rows}, state, memory);
}

TEST(Experts, AreBornWhereTheRouterHesitatesAndDoesNotStopByItself) {
  ExpertSettings settings = lively();
  settings.life.sleep = false;
  const Network network = network_with(settings);
  NamedArrays state = state_of(network);
  json memory = lives_of_experts().begin(network);
  const auto look = [&](std::int64_t step, float hesitation) {
    count(state, hesitation_name, 0, hesitation * 100);
    count(state, hesitation_name, 1, 100);
    return edited(network, step, state, memory).size();
  };
  EXPECT_EQ(look(10, 0.9F), 0U) << "nothing to compare with";
  EXPECT_EQ(look(20, 0.8F), 0U) << "it falls by itself";
  EXPECT_EQ(look(30, 0.79F), 1U);
  EXPECT_EQ(look(40, 0.79F), 0U) << "the last one may yet help";
  EXPECT_EQ(look(50, 0.79F), 1U);
  EXPECT_EQ(look(60, 0.79F), 0U);
  EXPECT_EQ(look(70, 0.79F), 0U) << "it did not help: more patience";
  EXPECT_EQ(look(80, 0.79F), 1U);
  for (std::int64_t step = 90; step < 500; step += 10) EXPECT_EQ(look(step, 0.9F), 0U) << "there is no room";
  expect_consistent(network, state, memory);
  EXPECT_EQ(memory.at("graph").at("nodes").size(), 6U);
  EXPECT_THAT(memory.at("events").at(0).at("text").get<std::string>(),
              HasSubstr("expert 3 was born as a copy"));
}

TEST(Experts, AreNotBornWhereTheRouterIsSure) {
  ExpertSettings settings = lively();
  settings.life.sleep = false;
  const Network network = network_with(settings);
  NamedArrays state = state_of(network);
  json memory = lives_of_experts().begin(network);
  for (std::int64_t step = 10; step < 200; step += 10) {
    count(state, hesitation_name, 0, 29);
    count(state, hesitation_name, 1, 100);
    EXPECT_TRUE(edited(network, step, state, memory).empty());
  }
}

TEST(Experts, ThatNobodyAsksAreRemovedButNotTheLast) {
  ExpertSettings settings = lively();
  settings.life.growth = false;
  settings.life.merging = false;
  const Network network = network_with(settings);
  NamedArrays state = state_of(network);
  json memory = lives_of_experts().begin(network);
  std::vector<std::string> removed;
  for (std::int64_t step = memory.at("next_sleep"); step < 400; step = memory.at("next_sleep")) {
    count(state, activations_name, 0, 100);
    count(state, idle_steps_name, 1, static_cast<float>(step));
    count(state, idle_steps_name, 2, static_cast<float>(step));
    for (const StructureEvent& each : edited(network, step, state, memory))
      if (each.kind == "removed") removed.push_back(each.text);
    expect_consistent(network, state, memory);
  }
  ASSERT_EQ(removed.size(), 1U) << "two answer for each row";
  EXPECT_THAT(removed.front(), HasSubstr("expert 1 was removed: no row came to it for"));
}

TEST(Experts, ThatAreAlikeAreMergedOnceTheyAreOldEnough) {
  ExpertSettings settings = lively();
  settings.life.growth = false;
  settings.life.pruning = false;
  const Network network = network_with(settings);
  const ExpertShape shape = expert_shape(network).value();
  NamedArrays state = state_of(network);
  json memory = lives_of_experts().begin(network);
  {
    ExpertArrays arrays(shape, state);
    arrays.bear(2, 3, random_key(1, Purpose::structure, 0));
    // The router sends them the same rows.
    const auto router = arrays.change("parameters.router.outer.weight");
    const auto width = static_cast<std::size_t>(shape.router_width());
    std::copy_n(router.begin() + 2 * shape.router_width(), width, router.begin() + 3 * shape.router_width());
    for (const std::size_t place : {2, 3}) arrays.change("parameters.router.outer.bias")[place] = 10;
  }
  KnowledgeGraph graph = graph_from_json(memory.at("graph"));
  ExpertNode child;
  child.number = 3;
  child.place = 3;
  child.born_step = 0;
  child.parent = 2;
  graph.nodes.push_back(child);
  memory["graph"] = to_json(graph);
  memory["next_number"] = 4;
  EXPECT_EQ(edited(network, 10, state, memory).size(), 1U) << "newborn";
  const std::int64_t next = memory.at("next_sleep");
  const std::vector<StructureEvent> events = edited(network, next, state, memory);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events.front().kind, "merged");
  EXPECT_THAT(events.front().text, HasSubstr("expert 3 was merged into expert 2: they are alike by"));
  expect_consistent(network, state, memory);
}

// Sleeps in a row, whatever the router does meanwhile.
TEST(Experts, StayConsistentOverAThousandSleeps) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    ExpertSettings settings = lively();
    settings.top_k = 1 + static_cast<std::int64_t>(seed % 3);
    settings.life.merge_similarity = seed == 3 ? 0.3 : 0.8;
    const Network network = network_with(settings);
    NamedArrays state = state_of(network, seed);
    json memory = lives_of_experts().begin(network);
    const RandomKey key = random_key(seed, Purpose::sample, 1);
    std::uint32_t drawn = 0;
    const Dataset rows = some_rows(30);
    for (int sleeps = 0; sleeps < 250; ++sleeps) {
      const std::int64_t step = lives_of_experts().next_step(network, memory);
      for (std::size_t place = 0; place < 6; ++place) {
        const bool is_asked = uniform(key, drawn++) < 0.6;
        const bool lives = find_array(state, "parameters.alive").as<float>()[place] != 0;
        count(state, activations_name, place, lives && is_asked ? 40 : 0);
        count(state, idle_steps_name, place,
              lives && !is_asked ? static_cast<float>(uniform(key, drawn++) * 60) : 0);
      }
      count(state, hesitation_name, 0, static_cast<float>(uniform(key, drawn++)) * 100);
      count(state, hesitation_name, 1, 100);
      lives_of_experts().edit({network, step, seed, rows}, state, memory);
      ASSERT_NO_FATAL_FAILURE(expect_consistent(network, state, memory)) << seed << " " << sleeps;
      ASSERT_GT(lives_of_experts().next_step(network, memory), step);
      if (sleeps % 50 == 0) memory = json::parse(memory.dump());
    }
    EXPECT_LE(memory.at("moments").size(), 100U);
    EXPECT_GT(memory.at("sleeps").get<int>(), 50);
  }
}

TEST(Experts, ThatDoNotFitIntoMemoryAreRefusedWithHowManyDo) {
  ExpertSettings settings = small_experts();
  settings.max_experts = 1000;
  const Network network = network_with(settings);
  const auto problem = [&](std::uint64_t bytes) { return lives_of_experts().room_problem(network, bytes); };
  EXPECT_EQ(problem(100'000'000), "");
  // Five floats for each of 231 weights and biases, and 24 of the router besides.
  EXPECT_THAT(problem(5 * 4 * (24 + 10 * 231)), HasSubstr("set max_experts to 10 or less"));
  EXPECT_THAT(problem(5 * 4 * (24 + 10 * 231) - 1), HasSubstr("set max_experts to 9 or less"));
  EXPECT_THAT(problem(100), HasSubstr("not even one fits"));
}

TEST(Experts, AMemoryOfOthersIsRefused) {
  const Network network = network_with(small_experts());
  json memory = lives_of_experts().begin(network);
  const auto refused = [&](const json& other) {
    try {
      lives_of_experts().check(network, other);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(memory), "");
  json twice = memory;
  twice["graph"]["nodes"].push_back(twice["graph"]["nodes"][0]);
  EXPECT_NE(refused(twice), "");
  json outside = memory;
  outside["graph"]["nodes"][2]["place"] = 6;
  EXPECT_THAT(refused(outside), HasSubstr("room"));
  json edge = memory;
  edge["graph"]["edges"].push_back({{"from", 0}, {"to", 9}, {"tie", "similar"}, {"weight", 1}});
  EXPECT_THAT(refused(edge), HasSubstr("not there"));
  EXPECT_NE(refused(json::object()), "");
  EXPECT_NE(refused(json::array()), "");
}

// What pictures show of every epoch; its number is bounded however long a training is.
TEST(Experts, AreRecordedAtTheEndsOfEpochsAndChangeNothing) {
  const Network network = network_with(small_experts());
  json memory = lives_of_experts().begin(network);
  const NamedArrays state = state_of(network);
  NamedArrays parameters;
  for (const NamedArray& each : state)
    if (each.name.starts_with("parameters."))
      parameters.push_back({each.name.substr(11), each.array.clone()});
  Array activations = Array::from<float>(std::array<float, 6>{5, 3, 2, 0, 0, 0}, {6});
  std::ranges::find(parameters, "usage.activations", &NamedArray::name)->array = activations;
  const Dataset none;
  json without_records = memory;
  lives_of_experts().observe({network, 10, 1, none}, parameters, memory);
  const KnowledgeGraph graph = graph_from_json(memory.at("epochs").at(0).at("graph"));
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.nodes[0].seen_rows, std::vector<double>{5});
  EXPECT_EQ(graph.nodes[2].seen_rows, std::vector<double>{2});
  json others = memory;
  others.erase("epochs");
  EXPECT_EQ(others, without_records);

  std::int64_t observed = 0;
  for (std::int64_t epoch = 2; epoch <= 1000; ++epoch) {
    if (epoch % lives_of_experts().epochs_between_records(memory) != 0) continue;
    lives_of_experts().observe({network, 10 * epoch, 1, none}, parameters, memory);
    ++observed;
    EXPECT_LE(memory.at("epochs").size(), most_expert_epochs);
  }
  EXPECT_LT(observed, 200);
  EXPECT_GE(memory.at("epochs").size(), most_expert_epochs / 2);
  const std::int64_t stride = lives_of_experts().epochs_between_records(memory);
  for (const json& each : memory.at("epochs"))
    EXPECT_EQ(each.at("step").get<std::int64_t>() % (10 * stride), 0);
  lives_of_experts().check(network, memory);
}

}  // namespace
}  // namespace stoker
