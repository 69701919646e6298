// Documents that are wrong: every error on its own line with file and line, exit code 2, nothing written.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

using testing::HasSubstr;

class BadDocument : public testing::Test {
 protected:
  BadDocument() { place_.write("houses.csv", small_table(40)); }

  void expect_refused(const std::string& document, const std::vector<std::string>& said,
                      const std::vector<std::string>& settings = {}) {
    place_.write("pipeline.yaml", document);
    for (const std::string command : {"run", "validate"}) {
      std::vector<std::string> words{command, "pipeline.yaml"};
      for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
      const Finished finished = place_.stoker(words);
      EXPECT_EQ(finished.code, 2) << finished.errors;
      EXPECT_EQ(finished.output, "");
      for (const std::string& each : said) EXPECT_THAT(finished.errors, HasSubstr(each));
    }
    EXPECT_FALSE(exists(place_.folder() / "runs"));
  }

  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  Workplace place_;
};

TEST_F(BadDocument, ReportsAMissingDocument) {
  const Finished finished = place_.stoker({"run", "nowhere.yaml"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("nowhere.yaml"));
}

TEST_F(BadDocument, ReportsRatiosOverOne) {
  expect_refused(ridge_document(), {"split", "ratio"},
                 {"cards.split.config.train_ratio=0.9", "cards.split.config.test_ratio=0.3"});
  expect_refused(ridge_document(), {"train_ratio", "at most 1"}, {"cards.split.config.train_ratio=1.5"});
  // Of which there is no sum to tell.
  place_.write("pipeline.yaml", ridge_document());
  const Finished alone =
      place_.stoker({"validate", "pipeline.yaml", "--json", "--set", "cards.split.config.train_ratio=1.75",
                     "--set", "cards.split.config.test_ratio=0.25"});
  const nlohmann::json errors = nlohmann::json::parse(alone.output)["errors"];
  ASSERT_EQ(errors.size(), 1U) << errors.dump(1);
  EXPECT_THAT(errors[0].get<std::string>(), HasSubstr("at most 1"));
}

TEST_F(BadDocument, ReportsHiddenLayersThatAreEmptyZeroOrNegative) {
  const std::string path = "cards.model.config.hidden_layers";
  expect_refused(network_document(1), {path}, {path + "=[]"});
  expect_refused(network_document(1), {path}, {path + "=[8, 0]"});
  expect_refused(network_document(1), {path}, {path + "=[-4]"});
}

TEST_F(BadDocument, NamesTheNearestSettingAndItsLine) {
  expect_refused(replaced(ridge_document(), "path: houses.csv", "pat: houses.csv"),
                 {"pipeline.yaml:6: cards.load.config.pat: unknown setting; did you mean path?"});
}

TEST_F(BadDocument, NamesTheNearestCardType) {
  expect_refused(replaced(ridge_document(), "type: data_split", "type: data_spilt"),
                 {"pipeline.yaml:8: ", "did you mean data_split?"});
}

TEST_F(BadDocument, ListsTheActivationsForAnUnknownOne) {
  expect_refused(network_document(1), {"activation", "relu, tanh, sigmoid, gelu, silu"},
                 {"cards.model.config.activation=swish"});
}

TEST_F(BadDocument, ReportsAnUnknownHyperparameter) {
  expect_refused(ridge_document(), {"hyperparameters.alpa", "did you mean alpha?"},
                 {"cards.model.config.hyperparameters.alpa=1"});
}

TEST_F(BadDocument, ReportsACycle) {
  expect_refused(R"(version: 1
cards:
  one:
    type: data_split
    inputs: { dataset: two.train_dataset }
  two:
    type: data_split
    inputs: { dataset: one.train_dataset }
)",
                 {"cycle"});
}

TEST_F(BadDocument, ReportsADanglingConnection) {
  expect_refused(replaced(ridge_document(), "load.dataset", "laod.dataset"), {"laod", "did you mean load"});
  expect_refused(replaced(ridge_document(), "load.dataset", "load.datset"), {"datset", "did you mean"});
  expect_refused(replaced(ridge_document(), "inputs: { dataset: load.dataset }", "inputs: {}"), {"dataset"});
}

TEST_F(BadDocument, ReportsAConnectionOfTheWrongType) {
  expect_refused(replaced(ridge_document(), "load.dataset", "model.model_spec"), {"model_spec", "table"});
}

TEST_F(BadDocument, ReportsTwoEqualKeys) {
  expect_refused(replaced(ridge_document(), "version: 1\n", "version: 1\nname: one\n"), {"name", ":3"});
}

TEST_F(BadDocument, ReportsEverythingAtOnce) {
  const std::string document =
      replaced(replaced(ridge_document(), "data_split", "data_spilt"), "path:", "pat:");
  place_.write("pipeline.yaml", document);
  const Finished finished = place_.stoker({"validate", "pipeline.yaml", "--json"});
  EXPECT_EQ(finished.code, 2);
  const auto json = nlohmann::json::parse(finished.output);
  EXPECT_EQ(json.at("valid"), false);
  EXPECT_GE(json.at("errors").size(), 2U);
}

TEST_F(BadDocument, RefusesABillionLaughsQuickly) {
  std::string document = "version: 1\nname: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    document += "l" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) document += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    document += "]\n";
  }
  expect_refused(document, {"pipeline.yaml"});
}

TEST_F(BadDocument, ReportsAnUnknownCardForOnly) {
  place_.write("pipeline.yaml", ridge_document());
  const Finished finished = place_.stoker({"run", "pipeline.yaml", "--only", "spit"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("did you mean split?"));
  EXPECT_FALSE(exists(place_.folder() / "runs"));
}

}  // namespace
}  // namespace stoker::test
