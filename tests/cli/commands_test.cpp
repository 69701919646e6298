// Programs of one's own as cards, on the command line: docs/commands.md.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/own_command.h"

namespace stoker::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

const std::string own_document =
    "version: 1\nname: own\ncards:\n"
    "  load: { type: data_load, config: { source: csv, path: houses.csv } }\n"
    "  own: { type: command:own, inputs: { dataset: load.dataset } }\n"
    "  split: { type: data_split, inputs: { dataset: own.dataset } }\n"
    "  model: { type: model_define, config: { model_type: ridge } }\n"
    "  train: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }, "
    "config: "
    "{ target_column: y } }\n";

TEST(Commands, RunAsCardsWhereTheirFolderIsNamed) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  place.write("own.yaml", own_document);
  const std::string folder = write_own_command(place, "echo at work; cp $input $output");
  const Finished refused = place.stoker({"run", "own.yaml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors,
              HasSubstr("own.yaml:5: cards.own.type: 'command:own' is not a card type; no commands "
                        "are allowed here"));
  EXPECT_EQ(place.stoker({"validate", "own.yaml", "--commands", folder}).code, 0);
  const Finished run = place.stoker({"run", "own.yaml", "--commands", "commands"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_THAT(run.errors, HasSubstr("own: at work"));
  EXPECT_THAT(place.stoker({"run", "own.yaml", "--commands", folder}).errors,
              HasSubstr("command:own        reused from the cache"));
  EXPECT_THAT(place.stoker({"cards", "--commands", folder}).output, ContainsRegex("command:own +Own"));
  const Finished swept = place.stoker({"sweep", "own.yaml", "--commands", folder, "--set",
                                       "cards.model.config.hyperparameters={alpha: {grid: [0.1, 1]}}",
                                       "--set", "sweep.folds=2", "--quiet"});
  EXPECT_EQ(swept.code, 0) << swept.errors;
}

std::size_t times_in(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Commands, ThatFailSayWhyOnce) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  place.write("own.yaml", own_document);
  const std::string folder = write_own_command(
      place, "echo 'Warning: of its own'; echo 'Traceback: line 7' >&2; echo 'ValueError: odd' >&2; exit 1");
  for (const bool is_quiet : {false, true}) {
    std::vector<std::string> words{"run", "own.yaml", "--commands", folder};
    if (is_quiet) words.emplace_back("--quiet");
    const Finished run = place.stoker(words);
    EXPECT_EQ(run.code, 1);
    for (const char* line : {"Traceback: line 7", "ValueError: odd", "exit code 1"})
      EXPECT_EQ(times_in(run.errors, line), 1U) << run.errors;
    EXPECT_THAT(run.errors, HasSubstr("warning: own: of its own"));
  }
}

TEST(Commands, ThatAreDeclaredWronglyDisturbOnlyWhoAsksForCards) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  place.write("ridge.yaml", ridge_document());
  const std::string folder = write_own_command(place, "cp $input $output", "memory: 3\n");
  setenv("STOKER_COMMANDS", folder.c_str(), 1);
  const Finished refused = place.stoker({"validate", "ridge.yaml"});
  const Finished trained =
      place.stoker({"train", "houses.csv", "--target", "y", "--model", "ridge", "--quiet"});
  unsetenv("STOKER_COMMANDS");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("own.yaml:6: memory: unknown setting"));
  EXPECT_EQ(trained.code, 0) << trained.errors;
}

TEST(Commands, EndWhenTheirRunIsInterruptedAndRunAgainWhenItGoesOn) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  place.write("own.yaml", own_document);
  const std::string folder =
      write_own_command(place, notes_its_number(place) + "[ -e " + (place.folder() / "go_on").string() +
                                   " ] || sleep 600; cp $input $output");
  Program program({STOKER_PROGRAM, "run", "own.yaml", "--commands", folder}, place.folder());
  const pid_t number = noted_number(place);
  program.send(SIGINT);
  const Finished finished = program.wait();
  EXPECT_EQ(finished.code, 130) << finished.errors;
  EXPECT_TRUE(ends_soon(number));
  place.write("go_on", "");
  const Finished resumed = place.stoker({"run", "--resume", "latest", "--commands", folder});
  EXPECT_EQ(resumed.code, 0) << resumed.errors;
}

TEST(Commands, EndWhenTheProgramIsKilled) {
  const Workplace place;
  place.write("houses.csv", small_table(60));
  place.write("own.yaml", own_document);
  const std::string folder =
      write_own_command(place, "setsid sh -c '" + notes_its_number(place) + "sleep 600'");
  Program program({STOKER_PROGRAM, "run", "own.yaml", "--commands", folder}, place.folder());
  const pid_t number = noted_number(place);
  program.send(SIGKILL);
  program.wait();
  EXPECT_TRUE(ends_soon(number)) << "in a session of its own";
}

// Hours whose answer is a circle: with its sine and cosine a linear model knows it.
TEST(Commands, TheExampleGivesALinearModelTheHourAsACircle) {
  const Workplace place;
  const fs::path examples = fs::path(STOKER_SOURCE_DIR) / "examples" / "commands";
  if (!fs::exists(examples / "../../.venv/bin/python")) GTEST_SKIP() << "there is no .venv with pyarrow";
  std::string rows = "hr,temp,hum,workingday,weathersit,bikers\n";
  for (int i = 0; i < 240; ++i)
    rows += std::to_string(i % 24) + ",0." + std::to_string(i % 7) + ",0.5,1,clear," +
            std::to_string(100 + 50 * std::sin(2 * M_PI * i / 24)) + "\n";
  place.write("Bikeshare.csv", rows);
  const Finished run = place.stoker(
      {"run", (examples / "documents" / "bikes.yaml").string(), "--commands", examples.string(), "--set",
       "cards.load.config.path=" + (place.folder() / "Bikeshare.csv").string(), "--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const auto evaluation = nlohmann::json::parse(run.output).at("evaluations").begin().value();
  EXPECT_LT(evaluation.at("metrics").at("rmse").get<double>(), 5) << evaluation.dump(2);
  EXPECT_THAT(run.errors, HasSubstr("cyclic: hr: 240 values, a period of 24"));
}

}  // namespace
}  // namespace stoker::test
