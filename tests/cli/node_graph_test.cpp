// A graph of nodes over cubes by the command line: trained from a document, and what is written of new cubes.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* document_of_cubes = R"(version: 1
name: cubes
cards:
  load: { type: data_load, config: { source: sample, sample_name: spectral_stress, sample_rows: 4 } }
  model:
    type: model_define_gpu
    config:
      model_type: node_graph
      nodes:
      - { name: data, type: CubeDataNode }
      - { name: rx, type: RXGlobal }
      - { name: logit, type: ScoreToLogit }
      connections:
      - { source: data.cube, target: rx.data }
      - { source: rx.scores, target: logit.scores }
  train:
    type: train
    inputs: { train_dataset: load.dataset, model_spec: model.model_spec }
    config: { target_column: mask }
)";

// Of the numbers behind a header whose length it tells.
template <class Number>
std::vector<Number> numbers_in_npy(const std::string& file, const std::string& type) {
  EXPECT_EQ(file.substr(1, 5), "NUMPY");
  const std::size_t header = static_cast<unsigned char>(file[8]) + 256U * static_cast<unsigned char>(file[9]);
  EXPECT_THAT(file.substr(10, header), AllOf(HasSubstr(type), HasSubstr("(128, 128, )")));
  std::vector<Number> numbers((file.size() - 10 - header) / sizeof(Number));
  std::memcpy(numbers.data(), file.data() + 10 + header, numbers.size() * sizeof(Number));
  return numbers;
}

TEST(NodeGraphOfTheCommandLine, WritesScoresAndMarksOfNewCubes) {
  const Workplace place;
  place.write("cubes.yaml", document_of_cubes);
  const Finished trained = place.stoker({"run", "cubes.yaml"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  EXPECT_THAT(trained.output, AllOf(HasSubstr("cubes:PATH --out DIR\n"), Not(HasSubstr("NEW_DATA"))));
  const std::vector<std::string> predict{"predict", "latest", "sample:spectral_stress", "--sample-rows", "2"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), predict.begin(), predict.end());
    return place.stoker(flags);
  };
  const Finished written = with({"--out", "scores", "--json"});
  ASSERT_EQ(written.code, 0) << written.errors;
  const json told = json::parse(written.output);
  for (std::size_t cube = 0; cube < 2; ++cube) {
    const std::string name = "scores/spectral_stress_" + std::to_string(cube);
    const auto scores = numbers_in_npy<float>(place.read(name + "_scores.npy"), "<f4");
    const auto marks = numbers_in_npy<std::uint8_t>(place.read(name + "_marks.npy"), "|u1");
    ASSERT_EQ(scores.size(), 128U * 128U);
    ASSERT_EQ(marks.size(), scores.size());
    std::int64_t marked = 0;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      EXPECT_EQ(marks[i] != 0, scores[i] > 0);
      marked += marks[i];
    }
    EXPECT_EQ(told["cubes"][cube]["marked_pixels"], marked);
    EXPECT_EQ(told["cubes"][cube]["scores"], "spectral_stress_" + std::to_string(cube) + "_scores.npy");
    EXPECT_FLOAT_EQ(told["cubes"][cube]["highest_score"], *std::max_element(scores.begin(), scores.end()));
  }
  const Finished printed = with({});
  EXPECT_THAT(printed.output,
              AllOf(HasSubstr("cube,marked_pixels,highest_score\n"), HasSubstr("spectral_stress_1,")));
  const Finished rows = with({"--interval", "90"});
  EXPECT_EQ(rows.code, 2);
  EXPECT_THAT(rows.errors, HasSubstr("are for rows"));
  const Finished table = place.stoker({"predict", "latest", "sample:friedman"});
  EXPECT_EQ(table.code, 2);
  EXPECT_THAT(table.errors, HasSubstr("these are plain rows"));
}

TEST(NodeGraphOfTheCommandLine, CountsCubesInsteadOfRows) {
  const Workplace place;
  const Finished trained =
      place.stoker({"run", STOKER_SOURCE_DIR "/examples/spectral_stress.yaml", "--no-cache", "--set",
                    "cards.load.config.sample_rows=6", "--set", "cards.model.config.epochs=1"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  EXPECT_THAT(trained.errors, HasSubstr("batch_size 16 is more than the 5 training cubes"));
  EXPECT_THAT(trained.output, HasSubstr("evaluate: mask on 1 cube\n"));
  EXPECT_THAT(place.stoker({"runs", "show", "latest"}).output, HasSubstr("evaluate (1 cube)\n"));
  std::string report;
  for (const std::string& file : files_below(place.folder() / "runs"))
    if (file.ends_with("report.html")) report = place.read(std::filesystem::path("runs") / file);
  EXPECT_THAT(report, HasSubstr("Cubes evaluated"));
}

constexpr const char* short_example = STOKER_SOURCE_DIR "/examples/spectral_stress.yaml";
const std::vector<std::string> as_short_as_may_be{"--set", "cards.load.config.sample_rows=8", "--set",
                                                  "cards.model.config.epochs=1"};

TEST(NodeGraphOfTheCommandLine, IsComparedOnTheSameCubes) {
  const Workplace place;
  for (const char* ratio : {"0.25", "0.25", "0.5"}) {
    std::vector<std::string> run{"run", short_example};
    run.insert(run.end(), as_short_as_may_be.begin(), as_short_as_may_be.end());
    run.insert(run.end(), {"--set", std::string("cards.split.config.test_ratio=") + ratio, "--set",
                           "cards.split.config.train_ratio=0.5"});
    ASSERT_EQ(place.stoker(run).code, 0);
  }
  const json listed = json::parse(place.stoker({"runs", "list", "--json"}).output);
  std::vector<std::string> ids;  // newest first
  for (const json& each : listed.at("runs")) ids.push_back(each.at("run"));
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_THAT(place.stoker({"runs", "compare", ids[1], ids[2]}).output, Not(HasSubstr("different")));
  const Finished others = place.stoker({"runs", "compare", ids[0], ids[2]});
  EXPECT_THAT(others.output + others.errors, HasSubstr("the runs were measured on different cubes"));
}

TEST(NodeGraphOfTheCommandLine, IsSwept) {
  const Workplace place;
  std::vector<std::string> words{"sweep", short_example,
                                 "--set", "cards.model.config.learning_rate={grid: [0.003, 0.01]}",
                                 "--set", "sweep.folds=2"};
  words.insert(words.end(), as_short_as_may_be.begin(), as_short_as_may_be.end());
  const Finished swept = place.stoker(words);
  EXPECT_EQ(swept.code, 0) << swept.errors;
  EXPECT_THAT(swept.output,
              AllOf(HasSubstr("loss"), HasSubstr("the winner refitted, evaluate: average_precision")));
  EXPECT_THAT(swept.errors, Not(HasSubstr("left out")));
  words.insert(words.end(), {"--set", "sweep.metric=roc_auc"});
  EXPECT_THAT(place.stoker(words).errors, HasSubstr("graphs of nodes are compared by loss"));
}

}  // namespace
}  // namespace stoker::test
