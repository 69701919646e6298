// What a person types at the program itself: help, versions, wrong words, JSON.
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Usage, HelpListsEveryCommandWithExamples) {
  const Workplace place;
  const Finished finished = place.stoker({"--help"});
  EXPECT_EQ(finished.code, 0);
  for (const char* each : {"run", "train", "predict", "preview", "validate", "step", "cards", "runs",
                           "devices", "bench", "advise", "Examples:"}) {
    EXPECT_THAT(finished.output, HasSubstr(each));
  }
}

TEST(Usage, EveryCommandHasHelpWithAnExample) {
  const Workplace place;
  for (const char* each : {"run", "train", "predict", "preview", "validate", "step", "cards", "runs",
                           "devices", "bench", "advise"}) {
    const Finished finished = place.stoker({each, "--help"});
    EXPECT_EQ(finished.code, 0);
    EXPECT_THAT(finished.output, HasSubstr(std::string("stoker ") + each));
    EXPECT_THAT(finished.output, HasSubstr("Example"));
  }
}

TEST(Usage, StepTellsALearnerWhatHappensInIt) {
  const Workplace place;
  const std::string document = STOKER_SOURCE_DIR "/examples/boston_housing.yaml";
  const Finished told =
      place.stoker({"step", document, "--rows", "3", "--set", "cards.load.config.sample_rows=200"});
  ASSERT_EQ(told.code, 0) << told.errors;
  for (const char* each :
       {"1. Prepare a batch", "MEDV", "2. Build the model", "layers.0", "4. Clear the gradients",
        "6. Calculate the loss", "mse of each row", "8. Take the step", "behind the step"})
    EXPECT_THAT(told.output, HasSubstr(each));
  const auto json = nlohmann::json::parse(
      place.stoker({"step", document, "--json", "--set", "cards.load.config.sample_rows=200"}).output);
  EXPECT_EQ(json.at("steps").size(), 8U);
  EXPECT_EQ(json.at("rows"), 8);
  EXPECT_EQ(place.stoker({"step", document, "--rows", "65"}).code, 2);
  const Finished solved = place.stoker({"step", STOKER_SOURCE_DIR "/examples/boston_ridge.yaml"});
  EXPECT_EQ(solved.code, 2);
  EXPECT_THAT(solved.errors, HasSubstr("solved in one go"));
  EXPECT_TRUE(files_below(place.folder()).empty()) << "nothing is kept";
}

TEST(Usage, ACardThatDefinesAModelShowsTheSettingsOfEveryFamily) {
  const Workplace place;
  const std::string shown = place.stoker({"cards", "model_define"}).output;
  for (const char* each : {"Hyperparameters of `ridge`", "Hyperparameters of `lasso`", "max_iterations"})
    EXPECT_THAT(shown, HasSubstr(each));
}

TEST(Usage, PreviewShowsShapeTypesMissingValuesAndRows) {
  const Workplace place;
  place.write("pets.csv", "name,age,weight\nrex,3,12.5\nmia,,4.25\n");
  const Finished shown = place.stoker({"preview", "pets.csv"});
  EXPECT_EQ(shown.code, 0);
  for (const char* each : {"2 rows, 3 columns", "string", "int64", "double", "mia", "12.5"}) {
    EXPECT_THAT(shown.output, HasSubstr(each));
  }
  const auto json = nlohmann::json::parse(place.stoker({"preview", "pets.csv", "--json"}).output);
  EXPECT_EQ(json.at("columns").at(1).at("nulls"), 1);
  EXPECT_EQ(json.at("first_rows").size(), 2U);
  EXPECT_EQ(place.stoker({"preview", "none.csv"}).code, 2);
}

TEST(Usage, TrainHelpShowsNoDefaultThatTrainDoesNotUse) {
  const Workplace place;
  const std::string help = place.stoker({"train", "--help"}).output;
  for (const char* flag : {"--epochs", "--batch-size", "--hidden-layers", "--dropout", "--learning-rate",
                           "--early-stopping-patience", "--validation-ratio", "--ensemble-folds"}) {
    const std::size_t begin = help.find(std::string("\n  ") + flag + " ");
    ASSERT_NE(begin, std::string::npos) << flag;
    const std::string own = help.substr(begin, help.find("\n  --", begin + 1) - begin);
    EXPECT_THAT(own, HasSubstr("default chosen by the data")) << flag;
  }
}

TEST(Usage, TrainPrintsWhatItChoseByTheData) {
  const Workplace place;
  place.write("houses.csv", small_table(200));
  const Finished trained = place.stoker(
      {"train", "houses.csv", "--target", "y", "--epochs", "2", "--device", "cpu", "--name", "chosen"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(trained.errors, found, std::regex("chosen for 160 .*: (.*)\n")))
      << trained.errors;
  const std::string chosen = found[1];
  EXPECT_THAT(chosen, HasSubstr("batch_size 32"));
  EXPECT_THAT(chosen, testing::Not(HasSubstr("epochs 2,")));  // given, not chosen
  EXPECT_THAT(trained.errors, HasSubstr("why: "));
}

TEST(Usage, TrainChoosesNothingForDataThatIsNotThere) {
  const Workplace place;
  for (const char* data : {"nosuch.csv", "dataset:fairr"}) {
    const Finished refused = place.stoker({"train", data, "--target", "a"});
    EXPECT_EQ(refused.code, 2) << data;
    EXPECT_THAT(refused.errors, testing::AnyOf(HasSubstr("does not exist"), HasSubstr("no dataset 'fairr'")));
    EXPECT_THAT(refused.errors, testing::Not(HasSubstr("chosen for"))) << data;
  }
}

TEST(Usage, TrainTakesNoSettingsOfSamplesForAFile) {
  const Workplace place;
  place.write("houses.csv", small_table(40));
  const Finished refused = place.stoker({"train", "houses.csv", "--target", "y", "--sample-rows", "5"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("--sample-rows is not a setting of houses.csv"));
}

TEST(Usage, TrainNamesTheRowsOfTheFileWithoutATarget) {
  const Workplace place;
  std::string table = "a,y\n";
  for (int row = 1; row <= 100; ++row)
    table += row % 13 == 0 ? fmt::format("{},\n", row) : fmt::format("{},{}.5\n", row, row * row % 31);
  place.write("rows.csv", table);
  for (const char* model : {"ridge", "neural_network"}) {
    const Finished refused = place.stoker({"train", "rows.csv", "--target", "y", "--model", model});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(
        refused.errors,
        testing::AllOf(HasSubstr("missing in 7 of 100 rows, first in rows 13, 26, 39, 52, 65;"),
                       HasSubstr("where: [\"y is not null\"]"), testing::Not(HasSubstr("chosen for"))));
  }
}

TEST(Usage, TrainKeepsNoSharesOfClassesInASplitByTime) {
  const Workplace place;
  std::string table = "date,heat,weather\n";
  for (int i = 0; i < 120; ++i)
    table += fmt::format("20{}-{:02}-{:02},{},{}\n", 12 + i / 30, 1 + i % 12, 1 + i % 28, i * 7 % 31,
                         i * 7 % 31 > 14 ? "sun" : "rain");
  place.write("weather.csv", table);
  const Finished trained =
      place.stoker({"train", "weather.csv", "--target", "weather", "--model", "logistic_regression",
                    "--time-column", "date", "--test-from", "2015-01-01"});
  EXPECT_EQ(trained.code, 0) << trained.errors;
  const Finished by_ids =
      place.stoker({"train", "weather.csv", "--target", "weather", "--model", "logistic_regression",
                    "--train-ids", "0,1,2,3,4,5,6,7,8,9,10,11", "--test-ids", "12,13,14,15,16,17"});
  EXPECT_EQ(by_ids.code, 0) << by_ids.errors;
}

TEST(Usage, TrainChoosesNothingForAFaultyTable) {
  const Workplace place;
  place.write("houses.csv", small_table(200));
  const Finished refused = place.stoker({"train", "houses.csv", "--target", "nope"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, testing::Not(HasSubstr("chosen for")));
}

TEST(Usage, VersionIsOneLine) {
  const Workplace place;
  const Finished finished = place.stoker({"--version"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.output, StartsWith("stoker "));
}

TEST(Usage, NamesTheNearestCommand) {
  const Workplace place;
  const Finished finished = place.stoker({"trian"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("unknown command: trian; did you mean train?"));
}

TEST(Usage, NamesTheNearestFlag) {
  const Workplace place;
  const Finished run = place.stoker({"run", "x.yaml", "--devise", "cpu"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.errors, HasSubstr("did you mean --device?"));
  const Finished train = place.stoker({"train", "x.csv", "--target", "y", "--hiden-layers=8"});
  EXPECT_EQ(train.code, 2);
  EXPECT_THAT(train.errors, HasSubstr("did you mean --hidden-layers?"));
}

TEST(Usage, WithoutACommandSaysWhatToDo) {
  const Workplace place;
  const Finished finished = place.stoker({});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("stoker --help"));
}

TEST(Usage, RunWithoutADocumentIsRefused) {
  const Workplace place;
  const Finished finished = place.stoker({"run"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("DOC"));
}

TEST(Usage, ErrorsAreOneLineWithoutColoursInAFile) {
  const Workplace place;
  const Finished finished = place.stoker({"validate", "nowhere.yaml"});
  EXPECT_THAT(finished.errors, StartsWith("stoker: "));
  EXPECT_EQ(std::count(finished.errors.begin(), finished.errors.end(), '\n'), 1);
  EXPECT_THAT(finished.errors, testing::Not(HasSubstr("\033")));
}

TEST(Usage, JsonOfDevicesParses) {
  const Workplace place;
  const auto json = nlohmann::json::parse(place.stoker({"devices", "--json"}).output);
  EXPECT_EQ(json.at("devices").at(0).at("device"), "cpu");
  EXPECT_GT(json.at("devices").at(0).at("total_bytes").get<std::uint64_t>(), 0U);
}

TEST(Usage, CardsListsShowsAndGivesASchema) {
  const Workplace place;
  EXPECT_THAT(place.stoker({"cards"}).output, HasSubstr("data_split"));
  EXPECT_THAT(place.stoker({"cards", "data_split"}).output, HasSubstr("train_ratio"));
  const auto settings = nlohmann::json::parse(place.stoker({"cards", "data_split", "--json"}).output);
  EXPECT_TRUE(settings.at("properties").contains("train_ratio"));
  EXPECT_TRUE(nlohmann::json::parse(place.stoker({"cards", "--json"}).output).is_object());
  const Finished unknown = place.stoker({"cards", "data_spilt"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("did you mean data_split?"));
}

TEST(Usage, PreviewCountsAndReadsAsTheFlagsSay) {
  const Workplace place;
  place.write("one.csv", "a;b\n1;2\n");
  const Finished found = place.stoker({"preview", "one.csv"});
  EXPECT_THAT(found.output, HasSubstr("1 row, 2 columns"));
  EXPECT_THAT(found.errors, HasSubstr("separated by ';'"));
  EXPECT_THAT(place.stoker({"preview", "one.csv", "--delimiter", ","}).output, HasSubstr("1 row, 1 column"));
  EXPECT_THAT(place.stoker({"preview", "one.csv", "--header", "no"}).output, HasSubstr("2 rows, 2 columns"));
}

TEST(Usage, PreviewReadsDatesAsTheFlagSays) {
  const Workplace place;
  place.write("sales.csv", "sold,price\n05/06/2019,1\n");
  EXPECT_THAT(place.stoker({"preview", "sales.csv"}).errors, HasSubstr("--date-columns 'sold=%d/%m/%Y'"));
  const Finished set = place.stoker({"preview", "sales.csv", "--date-columns", "sold=%d/%m/%Y"});
  EXPECT_EQ(set.code, 0) << set.errors;
  EXPECT_THAT(set.output, HasSubstr("timestamp[s, tz=UTC]"));
  for (const char* wrong : {"sold", "sold=%d", "bought=%d/%m/%Y"})
    EXPECT_EQ(place.stoker({"preview", "sales.csv", "--date-columns", wrong}).code, 2) << wrong;
}

TEST(Bench, MeasuresOneTrainingAfterEachNumberOfSteps) {
  const Workplace place;
  const std::vector<std::string> shared{"bench",   "w1", "--device",  "cpu", "--engine", "fused",
                                        "--batch", "32", "--seconds", "0.2", "--json"};
  const auto measured = [&](std::vector<std::string> words) {
    words.insert(words.begin(), shared.begin(), shared.end());
    return place.stoker(words);
  };
  const Finished finished = measured({"--steps-before", "10", "--steps-before", "200"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  std::istringstream lines(finished.output);
  std::vector<int> steps;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    steps.push_back(json.at("steps_before"));
    EXPECT_GT(json.at("processor_us_per_step").get<double>(), 0);
    EXPECT_GT(json.at("us_per_step").get<double>(), 0);
  }
  EXPECT_THAT(steps, testing::ElementsAre(10, 200));
  const Finished refused = measured({"--steps-before", "200", "--steps-before", "10"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, testing::HasSubstr("rising order"));
}

}  // namespace
}  // namespace stoker::test
