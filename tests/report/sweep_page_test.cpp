#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/run_folder.h"
#include "report/sweep/sweep_contents.h"
#include "report/sweep/sweep_report.h"

namespace stoker {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunFolder;

json trial(int number, const std::string& status, const json& score, const json& settings) {
  return {{"trial", number}, {"status", status},    {"reason", score.is_null() ? "it <b>fell</b>" : ""},
          {"score", score},  {"spread", 0.1},       {"epochs", 5},
          {"seconds", 1.5},  {"settings", settings}};
}

// Four candidates: the second is the best, the third was given up, the fourth failed.
json four_trials() {
  const auto settings = [](double rate, const char* activation) {
    return json{{"model.learning_rate", rate}, {"model.</script>", activation}};
  };
  return {
      {"format", 1},
      {"name", "four"},
      {"strategy", "random"},
      {"metric", "loss"},
      {"higher_is_better", false},
      {"folds", 3},
      {"time_budget_reached", false},
      {"settings", {{{"name", "model.learning_rate"}}, {{"name", "model.</script>"}}}},
      {"trials",
       {trial(1, "finished", 0.5, settings(1e-4, "relu")), trial(2, "finished", 0.2, settings(1e-2, "tanh")),
        trial(3, "pruned", 0.1, settings(1e-3, "relu")), trial(4, "failed", nullptr, settings(1, "gelu"))}},
      {"curves", {{{"trial", 2}, {"epochs", {1, 2}}, {"training", {1, 0.5}}, {"validation", {0.9, 0.2}}}}},
      {"winner", {{"trial", 2}, {"run", "runs/winner"}}}};
}

TEST(SweepPage, ShowsTheWinnerTheTableAndAPlotPerSetting) {
  RunFolder folder;
  folder.save();
  write_file(folder.paths().folder / "sweep.json", four_trials().dump());
  write_sweep_report(folder.paths().folder);
  const std::string page = folder.report();
  EXPECT_THAT(
      page, AllOf(HasSubstr("2 of 4"), HasSubstr("0.2 ± 0.1"), HasSubstr("runs/winner"),
                  HasSubstr("data-kind=\"score\" data-index=\"1\""), HasSubstr("data-kind=\"candidates\"")));
  // What comes from outside stays text.
  EXPECT_THAT(page, AllOf(HasSubstr("it &lt;b&gt;fell&lt;/b&gt;"), Not(HasSubstr("model.</script>"))));
}

TEST(SweepPage, RanksThoseThatWereGivenUpBehindThoseThatWentOn) {
  RunFolder folder;
  write_file(folder.paths().folder / "sweep.json", four_trials().dump());
  const SweepContents contents = read_sweep_contents(folder.paths().folder);
  EXPECT_EQ(contents.ranking(), (std::vector<std::size_t>{1, 0, 2, 3}));
  EXPECT_TRUE(contents.settings[0].wants_log_axis);
  EXPECT_EQ(contents.settings[1].labels, (std::vector<std::string>{"relu", "tanh", "gelu"}));
}

TEST(SweepPage, DrawsAPicturePerSettingWhereGnuplotIs) {
  RunFolder folder;
  write_file(folder.paths().folder / "sweep.json", four_trials().dump());
  std::vector<std::string> notes;
  draw_sweep_plots(folder.paths().folder, [&](Severity, const std::string& note) { notes.push_back(note); });
  if (!notes.empty()) {
    EXPECT_THAT(notes, ::testing::ElementsAre(HasSubstr("gnuplot is not installed")));
    return;
  }
  for (const char* name : {"score-model-learning_rate.png", "score-model---script-.png", "curves.png"})
    EXPECT_TRUE(std::filesystem::exists(folder.paths().plots() / name)) << name;
}

TEST(SweepPage, RefusesARecordThatIsNone) {
  RunFolder folder;
  json damaged = four_trials();
  damaged["trials"][0].erase("status");
  for (const std::string& text : {damaged.dump(), four_trials().dump().substr(0, 200), std::string("[]")}) {
    write_file(folder.paths().folder / "sweep.json", text);
    EXPECT_THROW(read_sweep_contents(folder.paths().folder), Error) << text;
  }
}

}  // namespace
}  // namespace stoker
