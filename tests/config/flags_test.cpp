#include "config/flags.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "config/refusal.h"

namespace stoker::config {
namespace {

using testing::HasSubstr;

enum class Shape { relu, tanh };

struct Settings {
  double learning_rate = 0.001;
  std::vector<int> hidden_layers = {64};
  std::vector<std::string> feature_columns;
  bool fit_intercept = true;
  std::string target_column;
  int epochs = 50;
  std::optional<double> alpha;
  std::vector<std::vector<std::string>> stages;
  Value extra;
};

Fields fields(Settings& s) {
  return {
      field("learning_rate", s.learning_rate, "Step width").above(0),
      field("hidden_layers", s.hidden_layers, "Units of each layer").at_least(1).not_empty(),
      field("feature_columns", s.feature_columns, "Columns to use"),
      field("fit_intercept", s.fit_intercept, "Whether there is an intercept"),
      field("target_column", s.target_column, "Column to predict").required(),
      field("epochs", s.epochs, "Passes over the rows").at_least(1),
      field("alpha", s.alpha, "Strength").above(0),
      field("stages", s.stages, "Groups of names"),
      field("extra", s.extra, "Not for the command line"),
  };
}

// What the flags leave in the map.
nlohmann::json given(std::vector<std::string> arguments) {
  Settings settings;
  Value into;
  CLI::App app;
  add_flags(app, fields(settings), into);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  app.parse(arguments);
  return to_json(into);
}

nlohmann::json json(const char* text) {
  return nlohmann::json::parse(text);
}

TEST(Flags, PutNothingWhereNothingIsGiven) {
  EXPECT_EQ(given({}), nullptr);
}

TEST(Flags, PutValuesUnderTheNamesOfTheFields) {
  EXPECT_EQ(
      given({"--learning-rate", "0.01", "--hidden-layers", "128,64, 32", "--epochs=5", "--target-column",
             "2020"}),
      json(
          R"({"learning_rate": 0.01, "hidden_layers": [128, 64, 32], "epochs": 5, "target_column": "2020"})"));
}

TEST(Flags, SwitchBooleansOnAndOff) {
  EXPECT_EQ(given({"--fit-intercept"}), json(R"({"fit_intercept": true})"));
  EXPECT_EQ(given({"--no-fit-intercept"}), json(R"({"fit_intercept": false})"));
  EXPECT_EQ(given({"--fit-intercept=false"}), json(R"({"fit_intercept": false})"));
  EXPECT_EQ(given({"--no-fit-intercept", "--fit-intercept"}), json(R"({"fit_intercept": true})"));
  EXPECT_THROW(given({"--fit-intercept=banana"}), CLI::Error);
}

TEST(Flags, TakeListsByCommasRepeatedOrAsYaml) {
  EXPECT_EQ(given({"--feature-columns", "a,b"}), json(R"({"feature_columns": ["a", "b"]})"));
  EXPECT_EQ(given({"--feature-columns", "a", "--feature-columns", "5"}),
            json(R"({"feature_columns": ["a", "5"]})"));
  EXPECT_EQ(given({"--feature-columns", "[\"a,b\", c]"}), json(R"({"feature_columns": ["a,b", "c"]})"));
  EXPECT_EQ(given({"--hidden-layers", ""}), json(R"({"hidden_layers": []})"));
  EXPECT_THAT(refusal([] { given({"--hidden-layers", "[1, 2"}); }), HasSubstr("--hidden-layers:1: "));
  EXPECT_THAT(refusal([] { given({"--hidden-layers", "[1]: 2"}); }), HasSubstr("--hidden-layers"));
}

TEST(Flags, TakeGroupsBySlashesOrAsYaml) {
  EXPECT_EQ(given({"--stages", "0, 1/b"}), json(R"({"stages": [["0", "1"], ["b"]]})"));
  EXPECT_EQ(given({"--stages", "[[a/b, 1], [2]]"}), json(R"({"stages": [["a/b", 1], [2]]})"));
}

TEST(Flags, TakeTheLastOfTwo) {
  EXPECT_EQ(given({"--epochs", "5", "--epochs", "6"}), json(R"({"epochs": 6})"));
}

TEST(Flags, TakeNegativeNumbersAndLeaveTheCheckToTheFields) {
  EXPECT_EQ(given({"--epochs", "-3"}), json(R"({"epochs": -3})"));
  EXPECT_EQ(given({"--alpha", "null"}), json(R"({"alpha": null})"));
  Settings settings;
  Value into = from_json(given({"--epochs", "-3", "--learning-rate", "fast"}));
  Diagnostics diagnostics("");
  read_fields(fields(settings), into, "", diagnostics);
  EXPECT_EQ(diagnostics.text(),
            "epochs: the number -3 is out of range; allowed: at least 1\n"
            "learning_rate: must be a number, found the text 'fast'\n"
            "target_column: missing, and there is no default");
}

TEST(Flags, RefuseWhatNoFieldDeclares) {
  EXPECT_THROW(given({"--learning-rat", "1"}), CLI::Error);
  EXPECT_THROW(given({"--extra", "1"}), CLI::Error);
  EXPECT_THROW(given({"--epochs"}), CLI::Error);
}

TEST(Flags, ExplainThemselves) {
  Settings settings;
  Value into;
  CLI::App app;
  add_flags(app, fields(settings), into);
  const std::string help = app.help();
  EXPECT_THAT(help, HasSubstr("--learning-rate NUMBER"));
  EXPECT_THAT(help, HasSubstr("Step width (above 0; default 0.001)"));
  EXPECT_THAT(help, HasSubstr("(each at least 1; not empty; default [64])"));
  EXPECT_THAT(help, HasSubstr("--no-fit-intercept"));
  EXPECT_THAT(help, testing::Not(HasSubstr("--extra")));
}

struct Folds {
  int folds = 0;
  bool shuffled = true;
};

Fields fields(Folds& s) {
  return {field("folds", s.folds, "How many"), field("shuffled", s.shuffled, "Whether they are")};
}

TEST(Flags, OfAMapOfSettingsCarryItsName) {
  Folds settings;
  Value into;
  CLI::App app;
  add_flags(app, {field_of_settings("cross_checks", settings, "A map")}, into);
  app.parse(std::vector<std::string>{"--no-cross-checks-shuffled", "--cross-checks-folds=4"});
  EXPECT_EQ(to_json(into), json(R"({"cross_checks": {"folds": 4, "shuffled": false}})"));
}

}  // namespace
}  // namespace stoker::config
