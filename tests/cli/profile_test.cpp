// What people see of the inside of a run: --profile and --tensorboard.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsSupersetOf;

class Inside : public testing::Test {
 protected:
  Inside() { place_.write("houses.csv", small_table(300)); }

  std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> all{
        "train", "houses.csv", "--target",     "y",  "--device", "cpu",           "--epochs",
        "6",     "--quiet",    "--batch-size", "16", "--model",  "neural_network"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  nlohmann::json trained(const std::vector<std::string>& more) const {
    std::vector<std::string> all = words(more);
    all.emplace_back("--json");
    const Finished finished = place_.stoker(all);
    EXPECT_EQ(finished.code, 0) << finished.errors;
    return nlohmann::json::parse(finished.output);
  }

  Workplace place_;
};

std::vector<std::string> names_of(const nlohmann::json& lines) {
  std::vector<std::string> names;
  for (const nlohmann::json& each : lines) names.push_back(each.at("name"));
  return names;
}

double sum_of_shares(const nlohmann::json& lines) {
  double sum = 0;
  for (const nlohmann::json& each : lines) sum += each.at("share").get<double>();
  return sum;
}

// Its steps run in one go, unless they are looked at.
TEST_F(Inside, AProfileOfASingleEpochHasSteps) {
  const Finished finished = place_.stoker({"train", "houses.csv", "--target", "y", "--device", "cpu",
                                           "--epochs", "1", "--batch-size", "4", "--model", "neural_network",
                                           "--quiet", "--engine", "eager", "--profile", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(names_of(nlohmann::json::parse(finished.output).at("profile").at("step")),
              testing::Contains("backward"));
}

TEST_F(Inside, AProfileOfStepsInTheirPartsIsATraceThatViewersOpen) {
  const nlohmann::json result = trained({"--profile", "--engine", "eager"});
  const nlohmann::json profile =
      nlohmann::json::parse(place_.read(result.at("profile").at("file").get<std::string>()));
  EXPECT_THAT(names_of(profile.at("step")),
              testing::UnorderedElementsAre("data", "forward", "backward", "optimiser", "waiting"));
  EXPECT_NEAR(sum_of_shares(profile.at("step")), 1, 1e-9);
  EXPECT_NEAR(sum_of_shares(profile.at("parts")), 1, 1e-9);
  EXPECT_THAT(names_of(profile.at("parts")),
              IsSupersetOf({"preparing the data", "steps", "setting up the engine"}));
  EXPECT_THAT(names_of(profile.at("operations")), testing::Contains(HasSubstr("aten::")));
  std::size_t complete = 0;
  for (const nlohmann::json& event : profile.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++complete;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    EXPECT_GE(event.at("ts").get<double>(), 0);
    EXPECT_TRUE(event.at("name").is_string() && event.at("tid").is_number_integer());
  }
  EXPECT_GT(complete, 100U);
  EXPECT_LT(complete, 60'000U);
  EXPECT_EQ(result.at("profile").at("step"), profile.at("step"));
}

TEST_F(Inside, AProfileIsPrintedForPeople) {
  const Finished finished = place_.stoker(words({"--profile", "--engine", "eager"}));
  EXPECT_EQ(finished.code, 0) << finished.errors;
  for (const char* part : {"time of the training", "time of 32 steps", "backward", "top operations",
                           "aten::", "profile.json (open it in ui.perfetto.dev)"})
    EXPECT_THAT(finished.output, HasSubstr(part));
}

// The weights are the same whether or not somebody looks.
TEST_F(Inside, AProfileChangesNothingOfTheModel) {
  const nlohmann::json looked_at = trained({"--profile", "--engine", "eager", "--no-cache"});
  const nlohmann::json plain = trained({"--engine", "eager", "--no-cache"});
  EXPECT_FALSE(plain.contains("profile"));
  const auto weights = [&](const nlohmann::json& result) {
    return place_.read(fs::path(result.at("model").get<std::string>()) / "model.safetensors");
  };
  EXPECT_EQ(weights(looked_at), weights(plain));
}

TEST_F(Inside, AProfileOfStepsInOnePieceSaysSo) {
  const nlohmann::json result = trained({"--profile", "--engine", "fused"});
  EXPECT_TRUE(result.at("profile").at("step").empty());
  EXPECT_THAT(result.at("profile").at("notes").dump(), HasSubstr("the engine eager shows them"));
  EXPECT_THAT(names_of(result.at("profile").at("parts")), testing::Contains("steps"));
}

TEST_F(Inside, AProfileOfAReusedTrainingSaysWhyThereIsNothingToSee) {
  trained({"--engine", "fused"});
  const nlohmann::json result = trained({"--profile", "--engine", "fused"});
  EXPECT_THAT(result.at("profile").at("notes").dump(), HasSubstr("--no-cache"));
}

constexpr const char* graph_to_profile = R"(version: 1
cards:
  load: { type: data_load, config: { source: sample, sample_name: spectral_stress, sample_rows: 2 } }
  model:
    type: model_define_gpu
    config:
      model_type: node_graph
      nodes:
      - { name: cubes, type: CubeDataNode }
      - { name: axes, type: TrainablePCA, settings: { n_components: 3 } }
      - { name: detector, type: RXGlobal }
      - { name: logit, type: ScoreToLogit }
      - { name: cross_entropy, type: AnomalyBCEWithLogits }
      connections:
      - { source: cubes.cube, target: axes.data }
      - { source: axes.projected, target: detector.data }
      - { source: detector.scores, target: logit.scores }
      - { source: logit.logits, target: cross_entropy.predictions }
      - { source: cubes.mask, target: cross_entropy.targets }
      unfrozen: [axes, logit]
      epochs: 1
      batch_size: 1
  train:
    type: train
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: mask }
)";

TEST(InsideOfAGraph, AProfileNamesItsNodes) {
  const Workplace place;
  place.write("graph.yaml", graph_to_profile);
  const auto profile_with = [&](const std::string& unfrozen) {
    const Finished finished = place.stoker({"run", "graph.yaml", "--quiet", "--profile", "--json", "--set",
                                            "cards.model.config.unfrozen=" + unfrozen});
    EXPECT_EQ(finished.code, 0) << finished.errors;
    return nlohmann::json::parse(finished.output).at("profile");
  };
  const nlohmann::json together = profile_with("[axes, logit]");
  EXPECT_THAT(names_of(together.at("step")),
              testing::ElementsAre("axes, detector, logit, cross_entropy as one matrix"));
  const nlohmann::json apart = profile_with("[axes, detector, logit]");
  EXPECT_THAT(names_of(apart.at("step")),
              IsSupersetOf({"data", "axes forward", "axes backward", "detector forward", "detector backward",
                            "cross_entropy forward"}));
  for (const nlohmann::json& each : {together, apart}) {
    EXPECT_THAT(names_of(each.at("parts")), testing::Contains("statistics of the nodes"));
    EXPECT_THAT(each.at("notes").dump(), testing::Not(HasSubstr("eager")));
  }
}

TEST_F(Inside, FilesForTensorBoardAreWrittenWhereTheyAreAskedFor) {
  const nlohmann::json with = trained({"--tensorboard"});
  const fs::path folder = with.at("folder").get<std::string>();
  EXPECT_THAT(files_below(place_.folder() / folder / "tensorboard"),
              testing::Contains(HasSubstr("train/events.out.tfevents.")).Times(1));
  const nlohmann::json without = trained({"--no-cache"});
  EXPECT_TRUE(files_below(place_.folder() / without.at("folder").get<std::string>() / "tensorboard").empty());
}

// For one who asks late, the training need not be done again.
TEST_F(Inside, FilesForTensorBoardComeFromTheCacheToo) {
  trained({});
  const nlohmann::json with = trained({"--tensorboard"});
  EXPECT_THAT(files_below(place_.folder() / with.at("folder").get<std::string>() / "tensorboard"),
              testing::Contains(HasSubstr("tfevents")).Times(1));
  const auto train = std::ranges::find(with.at("cards"), nlohmann::json("train"),
                                       [](const nlohmann::json& card) { return card.at("id"); });
  EXPECT_TRUE(train->at("reused").get<bool>());
}

}  // namespace
}  // namespace stoker::test
