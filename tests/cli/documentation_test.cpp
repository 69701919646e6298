// What the repository shows to people is true: the reference page is fresh, the examples run as they stand.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;

TEST(Documentation, ReferencePageIsFresh) {
  const Workplace place;
  std::ifstream file(fs::path(STOKER_SOURCE_DIR) / "docs" / "reference.md", std::ios::binary);
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(kept == place.stoker({"cards", "--reference"}).output)
      << "docs/reference.md is stale: build/stoker cards --reference > docs/reference.md";
}

std::vector<fs::path> examples() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(fs::path(STOKER_SOURCE_DIR) / "examples")) {
    const fs::path extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".json") found.push_back(entry.path());
  }
  return found;
}

TEST(Documentation, ExamplesAreValidAsTheyStand) {
  const Workplace place;
  ASSERT_FALSE(examples().empty());
  for (const fs::path& example : examples()) {
    const Finished finished = place.stoker({"validate", example.string()});
    EXPECT_EQ(finished.code, 0) << example << finished.errors;
  }
}

// With fewer epochs, so that it takes seconds: three for every network.
TEST(Documentation, ExamplesRun) {
  const Workplace place;
  for (const fs::path& example : examples()) {
    const auto cards = nlohmann::json::parse(place.stoker({"validate", example.string(), "--json"}).output);
    const char* command = cards.contains("candidates") ? "sweep" : "run";
    std::vector<std::string> words{command, example.string(), "--device", "cpu", "--quiet", "--json"};
    if (!cards.contains("candidates")) words.emplace_back("--no-cache");  // nobody reads it again
    bool has_evaluation = false;
    for (const auto& card : cards.at("cards")) {
      has_evaluation = has_evaluation || card.at("type") == "evaluate";
      const std::string settings = "cards." + card.at("id").get<std::string>() + ".config.";
      if (card.at("type") != "model_define_gpu") continue;
      words.insert(words.end(), {"--set", settings + "epochs=2", "--set", settings + "batch_size=1024"});
    }
    const Finished finished = place.stoker(words);
    ASSERT_EQ(finished.code, 0) << example << finished.errors;
    EXPECT_NE(nlohmann::json::parse(finished.output).at("evaluations").empty(), has_evaluation) << example;
  }
}

}  // namespace
}  // namespace stoker::test
