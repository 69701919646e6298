// Runs and sweeps held against each other: what is noise, what seeds do, what the winners of sweeps came to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Compare : public testing::Test {
 protected:
  Compare() {
    place_.write("houses.csv", small_table(200));
    place_.write("pipeline.yaml", network_document(8));
  }

  std::string run_with(int seed, const std::string& learning_rate) const {
    const Finished finished = place_.stoker({"run", "pipeline.yaml", "--device", "cpu", "--quiet", "--json",
                                             "--set", "cards.model.config.seed=" + std::to_string(seed),
                                             "--set", "cards.model.config.learning_rate=" + learning_rate});
    EXPECT_EQ(finished.code, 0) << finished.errors;
    return nlohmann::json::parse(finished.output).at("folder").get<std::string>();
  }

  nlohmann::json swept(const std::string& refit) const {
    const Finished finished = place_.stoker(
        {"sweep", "pipeline.yaml", "--set", "cards.model.config.learning_rate={grid: [0.0001, 0.01]}",
         "--set", "sweep.folds=2", "--set", "sweep.refit=" + refit, "--device", "cpu", "--quiet", "--json"});
    EXPECT_EQ(finished.code, 0) << finished.errors;
    return nlohmann::json::parse(finished.output);
  }

  Finished compared(std::vector<std::string> runs, const std::vector<std::string>& more = {}) const {
    runs.insert(runs.begin(), {"runs", "compare"});
    runs.insert(runs.end(), more.begin(), more.end());
    return place_.stoker(runs);
  }

  Workplace place_;
};

TEST_F(Compare, HoldsSettingsAgainstTheSpreadOfTheirSeeds) {
  std::vector<std::string> runs;
  for (const char* rate : {"0.0001", "0.01"})
    for (const int seed : {1, 2, 3}) runs.push_back(run_with(seed, rate));
  const Finished text = compared(runs);
  EXPECT_THAT(text.output, AllOf(HasSubstr("runs that differ in seeds alone"), HasSubstr(" and 2 more"),
                                 HasSubstr("more than the noise of seeds")));
  EXPECT_THAT(text.errors, Not(HasSubstr("seed")));
  const nlohmann::json by_seeds = nlohmann::json::parse(compared(runs, {"--json"}).output).at("by_seeds");
  ASSERT_EQ(by_seeds.size(), 2U);
  EXPECT_EQ(by_seeds[0].at("seeds"), 3);
  EXPECT_EQ(by_seeds[1].at("runs").size(), 3U);
  const nlohmann::json& rmse = by_seeds[1].at("metrics").at("evaluate.rmse").at("against_first");
  EXPECT_TRUE(rmse.at("paired"));
  EXPECT_TRUE(rmse.at("more_than_noise"));
  EXPECT_LT(rmse.at("difference").get<double>(), 0);
  EXPECT_EQ(rmse.at("degrees_of_freedom"), 2);
}

TEST_F(Compare, SaysWhatASingleSeedDoesNotTell) {
  const std::string slow = run_with(1, "0.0001");
  const std::string fast = run_with(1, "0.01");
  const Finished single = compared({slow, fast});
  EXPECT_THAT(single.errors, HasSubstr("how much another seed would change them is not known"));
  EXPECT_THAT(single.output, Not(HasSubstr("noise of seeds")));
  // The same seed again is no other one.
  const Finished twice = compared({slow, run_with(1, "0.0001"), fast});
  EXPECT_THAT(twice.output, Not(HasSubstr("noise of seeds")));
  // With another one of one setting, the other is taken to differ as much.
  const Finished three = compared({slow, run_with(2, "0.0001"), fast});
  EXPECT_THAT(three.output, HasSubstr("noise of seeds"));
  EXPECT_THAT(three.errors, HasSubstr("1 of 2 settings was run with a single seed"));
}

TEST_F(Compare, ShowsAndComparesTheWinnersOfSweeps) {
  const nlohmann::json first = swept("training");
  const std::string sweep = first.at("folder");
  const std::string shown = place_.stoker({"runs", "show", sweep}).output;
  for (const std::string& part : {std::string("Winner"), std::string("2 of 2"), std::string("learning_rate"),
                                  first.at("run").get<std::string>(), std::string("evaluate.rmse")})
    EXPECT_THAT(shown, HasSubstr(part));
  const nlohmann::json winner =
      nlohmann::json::parse(place_.stoker({"runs", "show", sweep, "--json"}).output).at("winner");
  EXPECT_EQ(winner.at("settings").at("model.learning_rate"), "0.01");
  EXPECT_EQ(winner.at("results").size(), 1U);
  const std::string run = run_with(1, "0.0001");
  const Finished both = compared({run, sweep});
  EXPECT_THAT(both.output, AllOf(HasSubstr("winner's model.learning_rate"), HasSubstr("winner's run"),
                                 HasSubstr("difference of evaluate.rmse"), HasSubstr("more than noise")));
}

TEST_F(Compare, SaysThatScoresAreThoseBeforeARefitOnAllRows) {
  const nlohmann::json all = swept("all");
  const std::string sweep = all.at("folder");
  EXPECT_THAT(place_.stoker({"runs", "show", sweep}).output,
              AllOf(HasSubstr("trained on all rows"), HasSubstr("before it was trained on all rows")));
  const Finished predicted = place_.stoker({"predict", sweep, "houses.csv"});
  EXPECT_THAT(predicted.errors, HasSubstr(all.at("final_run").get<std::string>()));
  const Finished by_run = place_.stoker({"predict", all.at("final_run").get<std::string>(), "houses.csv"});
  EXPECT_EQ(predicted.output, by_run.output);
  const nlohmann::json none = swept("none");
  EXPECT_EQ(none.at("run"), "");
  const Finished refused = place_.stoker({"predict", none.at("folder").get<std::string>(), "houses.csv"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("was not refitted"));
}

}  // namespace
}  // namespace stoker::test
