// From a file with a series to a forecast, as people do it.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A wave of 24 hours in two towns; the newest row comes first.
std::string two_towns(int hours) {
  std::string csv = "hour,town,degrees\n";
  for (int hour = hours - 1; hour >= 0; --hour)
    for (const int town : {1, 2}) {
      const double degrees = 10 * town + 5 * std::sin(hour * 2 * 3.14159265358979 / 24);
      csv += std::to_string(hour) + ",town" + std::to_string(town) + "," + std::to_string(degrees) + "\n";
    }
  return csv;
}

std::string document(const std::string& windows, const std::string& model = "ridge",
                     const std::string& split = "") {
  return "version: 1\n"
         "name: towns\n"
         "cards:\n"
         "  load: { type: data_load, config: { path: towns.csv } }\n"
         "  windows: { type: windows, inputs: { dataset: load.dataset }, config: { target_column: degrees, " +
         windows +
         " } }\n"
         "  split: { type: data_split, inputs: { dataset: windows.dataset }, config: { " +
         split +
         " } }\n"
         "  model: { type: model_define, config: { model_type: " +
         model +
         ", hyperparameters: { alpha: 0.001 } } }\n"
         "  train: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec "
         "}, config: { target_column: degrees } }\n"
         "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
         "split.test_dataset }, config: { importance: true } }\n"
         "  forecast: { type: inference, inputs: { trained_model: train.trained_model, dataset: load.dataset "
         "} }\n";
}

const char* const by_town = "length: 12, horizon: 3, time_column: hour, group_column: town, layout: columns";

TEST(WindowsOfTheProgram, LeadToAForecastForEachGroup) {
  const Workplace place;
  place.write("towns.csv", two_towns(200));
  place.write("towns.yaml", document(by_town));
  const Finished run = place.stoker({"run", "towns.yaml", "--json", "--quiet"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const auto json = nlohmann::json::parse(run.output);
  EXPECT_GT(json.at("evaluations").front().at("metrics").at("r2").get<double>(), 0.999);
  const std::string notes = json.dump();
  EXPECT_THAT(notes, AllOf(HasSubstr("have been sorted"), HasSubstr("divided by time")));

  // The forecast is for 3 hours after the last one, 199.
  const Finished predicted = place.stoker({"predict", "latest", "towns.csv"});
  ASSERT_EQ(predicted.code, 0) << predicted.errors;
  EXPECT_THAT(predicted.output, HasSubstr("\"hour\",\"town\",\"prediction\"\n199,\"town1\","));
  const auto forecast =
      nlohmann::json::parse(place.stoker({"predict", "latest", "towns.csv", "--json"}).output);
  const double wave = 5 * std::sin(202 * 2 * 3.14159265358979 / 24);
  EXPECT_NEAR(forecast.at("predictions")[0].get<double>(), 10 + wave, 0.1);
  EXPECT_NEAR(forecast.at("predictions")[1].get<double>(), 20 + wave, 0.1);
  EXPECT_EQ(forecast.at("time")[0], "199");
  EXPECT_EQ(forecast.at("group")[1], "town2");
  const auto every = nlohmann::json::parse(
      place.stoker({"predict", "latest", "towns.csv", "--json", "--every-window"}).output);
  EXPECT_EQ(every.at("rows"), 2 * 189);

  // A second run finds the windows in the cache, and they are the same.
  const Finished again = place.stoker({"run", "towns.yaml", "--json", "--quiet"});
  ASSERT_EQ(again.code, 0) << again.errors;
  EXPECT_EQ(nlohmann::json::parse(again.output).at("evaluations").front().at("metrics"),
            json.at("evaluations").front().at("metrics"));
}

TEST(WindowsOfTheProgram, AreRefusedWithWhatToDo) {
  const Workplace place;
  place.write("towns.csv", two_towns(30));
  const auto expect_refused = [&](const std::string& text, const std::string& said) {
    place.write("towns.yaml", text);
    const Finished finished = place.stoker({"run", "towns.yaml", "--quiet"});
    EXPECT_EQ(finished.code, 2) << finished.errors;
    EXPECT_THAT(finished.errors, HasSubstr(said));
  };
  const std::string groups = "time_column: hour, group_column: town, layout: columns, ";
  expect_refused(document("stride: 0"), "stride");
  expect_refused(document("horizon: 0"), "leaves nothing to predict");
  expect_refused(document("threshold: 0.1"), "is for answer: direction");
  expect_refused(document(groups + "length: 31"), "length 31 is longer than every series");
  expect_refused(document(groups + "length: 28"), "horizon 8 reaches beyond the data");
  expect_refused(document("time_column: hour, layout: columns"), "have the same time");
  expect_refused(document("time_column: hour, group_column: town, length: 3, horizon: 1"), "layout: columns");
  expect_refused(document(groups + "length: 10, horizon: 5"), "no row is left to train on");
  expect_refused(document(groups + "length: 3, horizon: 1", "ridge", "time_column: hour"),
                 "time_column is for test_from");
  expect_refused(document(groups + "length: 3, horizon: 1", "ridge", "stratify_column: town"),
                 "stratify_column 'town'");
}

TEST(WindowsOfTheProgram, NeedAsManyRowsForAForecastAsAWindowHas) {
  const Workplace place;
  place.write("towns.csv", two_towns(200));
  place.write("towns.yaml", document(by_town));
  ASSERT_EQ(place.stoker({"run", "towns.yaml", "--quiet"}).code, 0);
  place.write("short.csv", two_towns(5));
  const Finished finished = place.stoker({"predict", "latest", "short.csv"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_EQ(finished.output, "");
  EXPECT_THAT(finished.errors, AllOf(HasSubstr("12 rows"), HasSubstr("5 rows")));
}

TEST(WindowsOfTheProgram, AreSweptOverInBlocksOfTime) {
  const Workplace place;
  place.write("towns.csv", two_towns(200));
  place.write("towns.yaml", document(by_town));
  const Finished swept =
      place.stoker({"sweep", "towns.yaml", "--quiet", "--json", "--set", "sweep.folds=4", "--set",
                    "cards.model.config.hyperparameters={alpha: {grid: [0.001, 10]}}"});
  ASSERT_EQ(swept.code, 0) << swept.errors;
  const auto best = nlohmann::json::parse(swept.output).at("best");
  EXPECT_THAT(best.dump(), AllOf(HasSubstr("0.001"), Not(HasSubstr("10.0"))));
  EXPECT_EQ(place.stoker({"predict", "latest", "towns.csv"}).code, 0);
}

// The answers are words, the column that they are made of holds numbers.
TEST(WindowsOfTheProgram, TellTheDirectionOfASeriesOfNumbers) {
  const Workplace place;
  place.write("towns.csv", two_towns(200));
  place.write("towns.yaml", document(std::string(by_town) + ", answer: direction, threshold: 0.05",
                                     "logistic_regression", "train_ratio: 0.8, test_ratio: 0.2"));
  const Finished run =
      place.stoker({"run", "towns.yaml", "--quiet", "--set", "cards.model.config.hyperparameters={}"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const Finished predicted = place.stoker({"predict", "latest", "towns.csv", "--every-window"});
  ASSERT_EQ(predicted.code, 0) << predicted.errors;
  EXPECT_THAT(predicted.output, AllOf(HasSubstr("\"up\""), HasSubstr("\"down\"")));
}

// A file of new rows may hold nothing but numbers where training saw words as well.
TEST(WindowsOfTheProgram, ReadTextOfTheSeriesAsTrainingDid) {
  std::string series = "hour,code,degrees\n";
  for (int hour = 0; hour < 120; ++hour)
    series += fmt::format("{},{},{}\n", hour, hour % 3 == 0 ? "007" : hour % 3 == 1 ? "01" : "x", hour % 3);
  const Workplace place;
  place.write("towns.csv", series);
  place.write("towns.yaml", document("length: 2, horizon: 1, time_column: hour, layout: columns, "
                                     "feature_columns: [code]"));
  const Finished run = place.stoker({"run", "towns.yaml", "--quiet"});
  ASSERT_EQ(run.code, 0) << run.errors;
  place.write("new.csv", "hour,code,degrees\n120,007,0\n121,01,1\n");
  const Finished predicted = place.stoker({"predict", "latest", "new.csv", "--json"});
  ASSERT_EQ(predicted.code, 0) << predicted.errors;
  EXPECT_NEAR(nlohmann::json::parse(predicted.output).at("predictions")[0].get<double>(), 2, 0.1);
}

TEST(WindowsOfTheProgram, OtherModelsHaveNone) {
  const Workplace place;
  place.write("towns.csv", two_towns(30));
  const Finished trained =
      place.stoker({"train", "towns.csv", "--target", "degrees", "--model", "ridge", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const Finished finished = place.stoker({"predict", "latest", "towns.csv", "--every-window"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("not windows of a series"));
}

}  // namespace
}  // namespace stoker::test
