#include "pipeline/document/recommended.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What `stoker train` writes into its document; docs/quality.md has what comes of it.
namespace stoker {
namespace {

using json = nlohmann::json;

struct Settings {
  json model;
  json train;
};

Settings recommended(const TableShape& shape, const char* model = "{}", const char* train = "{}",
                     const char* family = "neural_network") {
  const NetworkSettings all = recommended_settings(
      family_named(family), shape, {config::parse_yaml(model, ""), config::parse_yaml(train, "")});
  return {config::to_json(all.model), config::to_json(all.train)};
}

constexpr TableShape houses{.rows = 1'000, .numbers = 8};
constexpr TableShape proteins{.rows = 30'000, .numbers = 9};
constexpr TableShape clicks{.rows = 10'000'000, .numbers = 20};
constexpr TableShape flowers{.rows = 100, .numbers = 4, .has_classes = true};

TEST(Recommended, CapacityBatchAndEpochsFollowTheRows) {
  EXPECT_EQ(recommended(flowers).model.at("hidden_layers"), json({64, 64}));
  EXPECT_EQ(recommended(flowers).model.at("activation"), "tanh");
  EXPECT_EQ(recommended(houses).model.at("hidden_layers"), json({256, 256}));
  EXPECT_EQ(recommended(flowers).model.at("batch_size"), 32);
  EXPECT_EQ(recommended(proteins).model.at("batch_size"), 256);
  EXPECT_EQ(recommended(houses).model.at("epochs"), 200);
  EXPECT_EQ(recommended(proteins).model.at("epochs"), 52);
  EXPECT_EQ(recommended(clicks).model.at("epochs"), 10);
}

TEST(Recommended, NetworksOverShortSeriesAreSmallAndReadTheWholeWindow) {
  constexpr TableShape few{.rows = 5'000, .numbers = 3, .moments = 20};
  constexpr TableShape many{.rows = 500'000, .numbers = 3, .moments = 20};
  EXPECT_EQ(recommended(few, "{}", "{}", "lstm").model.at("hidden_size"), 64);
  EXPECT_EQ(recommended(few, "{}", "{}", "lstm").model.at("layers"), 1);
  EXPECT_FALSE(recommended(few, "hidden_size: 16", "{}", "lstm").model.contains("layers"));
  EXPECT_FALSE(recommended(many, "{}", "{}", "lstm").model.contains("hidden_size"));
  EXPECT_EQ(recommended(few, "{}", "{}", "temporal_mlp").model.at("moments"), 20);
  EXPECT_EQ(recommended(many, "{}", "{}", "temporal_mlp").model.at("moments"), 20);
}

TEST(Recommended, AnEnsembleIsTrainedWhereItCostsSeconds) {
  EXPECT_EQ(recommended(houses).train.at("ensemble").at("repeats"), 2);
  EXPECT_EQ(recommended(proteins).train.at("ensemble").at("repeats"), 1);
  const Settings large = recommended(clicks);
  EXPECT_FALSE(large.train.contains("ensemble"));
  EXPECT_GT(large.model.at("validation_ratio"), 0);
  const Settings with_automatic_batch = recommended(houses, "batch_size: auto");
  EXPECT_TRUE(with_automatic_batch.train.contains("ensemble"));
  EXPECT_EQ(with_automatic_batch.model.at("batch_size"), "auto");
}

TEST(Recommended, StagesAreTrainedByOneNetworkToTheirEnd) {
  const Settings staged = recommended(flowers, "{}", "stages: [[a], [b]]");
  EXPECT_FALSE(staged.train.contains("ensemble"));
  EXPECT_FALSE(staged.model.contains("early_stopping_patience"));
  EXPECT_GT(staged.model.at("validation_ratio"), 0);
}

TEST(Recommended, MembersSeeNumbersInTwoWays) {
  const json of_numbers = recommended(houses).train.at("ensemble").at("variants");
  EXPECT_EQ(of_numbers.at("near").at("scaling"), "robust");
  EXPECT_EQ(of_numbers.at("ranked").at("scaling"), "quantile");
  TableShape few_of_classes = houses;
  few_of_classes.has_classes = true;
  const json of_classes = recommended(few_of_classes).train.at("ensemble").at("variants");
  EXPECT_EQ(of_classes.at("near").at("number_embedding"), "none");
  EXPECT_FALSE(recommended(flowers).model.contains("number_embedding"));
}

TEST(Recommended, WhatIsGivenIsKeptAndOthersFollow) {
  const Settings few_epochs = recommended(houses, "{epochs: 5, hidden_layers: [8]}");
  EXPECT_EQ(few_epochs.model.at("epochs"), 5);
  EXPECT_EQ(few_epochs.model.at("warmup_epochs"), 0);
  EXPECT_EQ(few_epochs.model.at("early_stopping_patience"), 10);
  EXPECT_EQ(few_epochs.model.at("hidden_layers"), json({8}));
  const Settings plain = recommended(houses, "{optimizer: sgd}");
  EXPECT_FALSE(plain.model.contains("learning_rate"));
  EXPECT_FALSE(plain.model.contains("weight_decay"));
  const Settings validated = recommended(houses, "{validation_ratio: 0.3}");
  EXPECT_FALSE(validated.train.contains("ensemble"));
  EXPECT_EQ(validated.model.at("validation_ratio"), 0.3);
  const Settings named = recommended(houses, "{validation_ids: [1, 2]}");
  EXPECT_FALSE(named.train.contains("ensemble"));
  EXPECT_FALSE(named.model.contains("validation_ratio"));
  EXPECT_TRUE(named.model.contains("early_stopping_patience"));
  const Settings unwatched = recommended(houses, "{validation_ratio: 0.0}");
  EXPECT_FALSE(unwatched.model.contains("early_stopping_patience"));
  const Settings repeated = recommended(houses, "{}", "{ensemble: {repeats: 3}}");
  EXPECT_EQ(repeated.train.at("ensemble").at("folds"), 8);
  EXPECT_EQ(repeated.train.at("ensemble").at("repeats"), 3);
  const Settings one = recommended(houses, "{}", "{ensemble: {folds: 0}}");
  EXPECT_GT(one.model.at("validation_ratio"), 0);
  const Settings scaled = recommended(houses, "{}", "{scaling: minmax}");
  EXPECT_EQ(scaled.train.at("scaling"), "minmax");
  EXPECT_FALSE(scaled.train.at("ensemble").contains("variants"));
}

TEST(Recommended, TheFusedEngineOfAGpuIsNotAskedToEmbed) {
  EXPECT_FALSE(recommended(houses, "{}", "{engine: fused}").model.contains("number_embedding"));
  EXPECT_EQ(recommended(houses, "{}", "{engine: fused, device: cpu}").model.at("number_embedding"),
            "periodic");
}

TEST(Recommended, OfAnotherFamilyIsOnlyWhatItHas) {
  const Settings residual = recommended(houses, "{}", "{}", "residual_mlp");
  EXPECT_FALSE(residual.model.contains("hidden_layers"));
  EXPECT_FALSE(residual.model.contains("number_embedding"));
  EXPECT_FALSE(residual.train.contains("ensemble"));
  EXPECT_EQ(residual.model.at("optimizer"), "adamw");
}

// Names of settings as settings_chosen_by_data() has them.
void add_names(const json& settings, std::set<std::string>& names) {
  for (const auto& [name, value] : settings.items()) {
    names.insert(name);
    if (name == "ensemble")
      for (const auto& [inner, ignored] : value.items()) names.insert("ensemble." + inner);
  }
}

TEST(Recommended, EverySettingThatAnyTableGetsIsListedAndNoOther) {
  constexpr TableShape hours{.rows = 5'000, .numbers = 3, .moments = 20};
  std::set<std::string> names;
  for (const std::string& family : family_names(false))
    for (const TableShape& shape : {flowers, houses, proteins, clicks, hours}) {
      const Settings settings = recommended(shape, "{}", "{}", family.c_str());
      add_names(settings.model, names);
      add_names(settings.train, names);
    }
  const auto listed = settings_chosen_by_data();
  EXPECT_EQ(names, std::set<std::string>(listed.begin(), listed.end()));
}

TEST(Recommended, SettingsThatAreAllGivenHaveNoReasons) {
  const NetworkSettings chosen = recommended_settings(family_named("neural_network"), houses, {{}, {}});
  EXPECT_EQ(chosen.reasons.size(), 2U);
  const NetworkSettings given =
      recommended_settings(family_named("neural_network"), houses, {chosen.model, chosen.train});
  EXPECT_THAT(given.reasons, testing::IsEmpty());
}

}  // namespace
}  // namespace stoker
