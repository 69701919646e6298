// Series on the command line: `stoker train --windows`, slower time frames in a forecast, and what is said of
// a model that is no better than the last value.
#include <cmath>
#include <filesystem>
#include <regex>

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

constexpr double two_pi = 6.283185307179586;

// A wave of 24 hours in two towns, from 2021 on.
std::string hours_of_towns(int hours) {
  std::string csv = "time,town,degrees\n";
  for (int hour = 0; hour < hours; ++hour)
    for (const int town : {1, 2})
      csv += fmt::format("2021-01-{:02} {:02}:00:00,town{},{:.4f}\n", 1 + hour / 24, hour % 24, town,
                         10 * town + 5 * std::sin(two_pi * hour / 24));
  return csv;
}

std::string newest_document(const Workplace& place) {
  for (const std::string& file : files_below(place.folder() / "runs"))
    if (file.ends_with("pipeline.yaml") && file.find(".cache") == std::string::npos)
      return place.read(std::filesystem::path("runs") / file);
  return "";
}

TEST(TrainOnASeries, MakesTheDocumentOfItsWindows) {
  const Workplace place;
  place.write("towns.csv", hours_of_towns(240));
  const Finished trained = place.stoker({"train", "towns.csv", "--target", "degrees", "--windows", "12",
                                         "--horizon", "3", "--time-column", "time", "--group-column", "town",
                                         "--model", "ridge", "--alpha", "0.001", "--quiet", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const auto json = nlohmann::json::parse(trained.output);
  const auto& evaluation = json.at("evaluations").at("evaluate");
  EXPECT_GT(evaluation.at("metrics").at("r2").get<double>(), 0.99);
  EXPECT_EQ(evaluation.at("baseline").at("predicts"), "the last value");
  const std::string document = newest_document(place);
  EXPECT_THAT(document, HasSubstr("version: 2\n"));  // with the defaults of this version
  for (const char* part :
       {"type: windows", "length: 12", "horizon: 3", "time_column: time", "group_column: town",
        "layout: columns", "carry_forward: true", "dataset: windows.dataset"})
    EXPECT_THAT(document, HasSubstr(part));
  EXPECT_THAT(document, Not(HasSubstr("stratify_column: degrees")));
  place.write("again.yaml", document);
  EXPECT_EQ(place.stoker({"validate", "again.yaml"}).code, 0);
  const Finished forecast = place.stoker({"predict", "latest", "towns.csv", "--json"});
  ASSERT_EQ(forecast.code, 0) << forecast.errors;
  EXPECT_EQ(nlohmann::json::parse(forecast.output).at("time").at(0), "2021-01-10 23:00:00");
}

TEST(TrainOnASeries, AsksForTheNextRowUnlessToldOtherwise) {
  const Workplace place;
  place.write("towns.csv", hours_of_towns(240));
  const Finished trained =
      place.stoker({"train", "towns.csv", "--target", "degrees", "--windows", "6", "--time-column", "time",
                    "--group-column", "town", "--model", "ridge", "--train-ratio", "1", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  EXPECT_THAT(newest_document(place), AllOf(HasSubstr("horizon: 1"), Not(HasSubstr("type: data_split"))));
}

// A level that rises all the time, with a wave on it.
std::string rising_days(int days) {
  std::string csv = "day,level\n";
  for (int day = 0; day < days; ++day)
    csv += fmt::format("{},{:.4f}\n", day, 3.0 * day + 4 * std::sin(two_pi * day / 7));
  return csv;
}

TEST(TrainOnASeries, DefaultEnsembleDecidesRelativeTo) {
  const Workplace place;
  std::string csv = "day,level\n";
  for (int day = 0; day < 150; ++day) csv += fmt::format("{},{:.4f}\n", day, std::sin(two_pi * day / 12));
  place.write("days.csv", csv);
  const Finished trained = place.stoker({"train", "days.csv", "--target", "level", "--windows", "7",
                                         "--time-column", "day", "--epochs", "4", "--device", "cpu"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  EXPECT_THAT(trained.errors, HasSubstr("ensemble_folds"));
  EXPECT_THAT(trained.errors, HasSubstr("was chosen for 'level'"));
}

TEST(AMovingLevel, IsToldFromTheLastValueWhereThatIsNearer) {
  const Workplace place;
  place.write("days.csv", rising_days(300));
  const auto trained = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"train",
                                   "days.csv",
                                   "--target",
                                   "level",
                                   "--windows",
                                   "7",
                                   "--time-column",
                                   "day",
                                   "--model",
                                   "neural_network",
                                   "--hidden-layers",
                                   "16",
                                   "--epochs",
                                   "30",
                                   "--validation-ratio",
                                   "0.2",
                                   "--device",
                                   "cpu",
                                   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return place.stoker(words);
  };
  const Finished chosen = trained({});
  ASSERT_EQ(chosen.code, 0) << chosen.errors;
  EXPECT_THAT(chosen.errors, HasSubstr("relative_to: last was chosen for 'level'"));
  const auto metrics = nlohmann::json::parse(chosen.output).at("evaluations").at("evaluate").at("metrics");
  EXPECT_GT(metrics.at("r2").get<double>(), 0.98);
  EXPECT_TRUE(metrics.contains("coverage_of_90_updated"));
  // What comes after the end is told in the target's own unit, from the model folder alone.
  const Finished forecast = place.stoker({"predict", "latest", "days.csv", "--json"});
  ASSERT_EQ(forecast.code, 0) << forecast.errors;
  EXPECT_NEAR(nlohmann::json::parse(forecast.output).at("predictions").at(0).get<double>(), 900, 12);
  const Finished as_it_is = trained({"--relative-to", "none"});
  ASSERT_EQ(as_it_is.code, 0) << as_it_is.errors;
  EXPECT_LT(nlohmann::json::parse(as_it_is.output).at("evaluations").at("evaluate").at("metrics").at("r2"),
            metrics.at("r2"));
  const Finished refused = trained({"--relative-to", "last", "--answer", "direction"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("relative_to is for the answers ahead and path"));
}

TEST(AMovingLevel, HasIntervalsThatFollowWhatIsKnown) {
  const Workplace place;
  place.write("days.csv", rising_days(300));
  const Finished trained = place.stoker({"train",
                                         "days.csv",
                                         "--target",
                                         "level",
                                         "--windows",
                                         "7",
                                         "--time-column",
                                         "day",
                                         "--model",
                                         "neural_network",
                                         "--hidden-layers",
                                         "16",
                                         "--epochs",
                                         "5",
                                         "--validation-ratio",
                                         "0.2",
                                         "--device",
                                         "cpu",
                                         "--test-from",
                                         "240",
                                         "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const auto predicted = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"predict", "latest", "days.csv", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return place.stoker(words);
  };
  const Finished updated = predicted({"--every-window", "--interval", "90", "--new-from", "240"});
  ASSERT_EQ(updated.code, 0) << updated.errors;
  EXPECT_THAT(updated.errors, HasSubstr("the latest 100 errors known when it ends"));
  const auto json = nlohmann::json::parse(updated.output);
  const auto plain = nlohmann::json::parse(predicted({"--every-window", "--interval", "90"}).output);
  EXPECT_EQ(json.at("predictions"), plain.at("predictions"));
  EXPECT_EQ(json.at("upper").size(), 294U);
  EXPECT_NE(json.at("upper").back(), plain.at("upper").back());
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"--new-from", "240"},
           {"--every-window", "--interval", "90", "--new-from", "soon"},
           {"--every-window", "--interval", "90", "--new-from", "100000"}}) {
    const Finished refused = predicted(wrong);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.errors, HasSubstr("--new-from"));
  }
}

TEST(TrainOnASeries, RefusesFlagsThatDoNotGoTogether) {
  const Workplace place;
  place.write("towns.csv", hours_of_towns(48));
  const auto expect_refused = [&](const std::vector<std::string>& more, const std::string& said) {
    std::vector<std::string> words{"train", "towns.csv", "--target", "degrees", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = place.stoker(words);
    EXPECT_EQ(finished.code, 2) << finished.errors;
    EXPECT_THAT(finished.errors, HasSubstr(said));
    EXPECT_THAT(files_below(place.folder() / "runs"), Not(testing::Contains(HasSubstr("run.json")))) << said;
  };
  expect_refused({"--model", "lstm"}, "lstm reads windows of a series; add --windows LENGTH");
  expect_refused({"--horizon", "3"}, "--horizon is a setting of windows of a series; add --windows");
  expect_refused({"--slower", "h1=hours.csv"}, "add --windows LENGTH");
  expect_refused({"--model", "ridge", "--windows", "0"}, "length");
  expect_refused({"--model", "ridge", "--windows", "4", "--slower", "towns.csv"}, "needs a name");
  expect_refused({"--model", "ridge", "--windows", "4", "--time-column", "time"}, "have the same time");
  expect_refused({"--model", "ridge", "--windows", "49", "--time-column", "time", "--group-column", "town"},
                 "length 49 is longer than every series: the longest series, 'town1', has 48 rows");
  expect_refused({"--model", "ridge", "--windows", "40", "--horizon", "9", "--time-column", "time",
                  "--group-column", "town"},
                 "horizon 9 reaches beyond the data");
  expect_refused({"--model", "ridge", "--windows", "4", "--time-column", "time", "--group-column", "town",
                  "--stratify-column", "town"},
                 "stratify_column");
}

// x of a quarter of an hour is that of the hour before, which only the slower table knows.
class SlowerForecast : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string hours = "time,level\n";
    std::string quarters = "time,x\n";
    for (int hour = 0; hour < 200; ++hour) {
      hours += fmt::format("{},{}\n", 4 * hour, level(hour));
      for (int i = 0; i < 4 && hour > 0; ++i)
        quarters += fmt::format("{},{}\n", 4 * hour + i, level(hour - 1) + 0.01 * i);
    }
    place.write("hours.csv", hours);
    place.write("quarters.csv", quarters);
    const Finished trained =
        place.stoker({"train", "quarters.csv", "--target", "x", "--windows", "2", "--time-column", "time",
                      "--slower", "h1=hours.csv", "--model", "ridge", "--quiet"});
    ASSERT_EQ(trained.code, 0) << trained.errors;
  }
  static double level(int hour) { return std::sin(1.7 * hour) + std::cos(0.9 * hour * hour); }

  Workplace place;
};

TEST_F(SlowerForecast, TakesTheTablesThatTheTrainingHad) {
  const Finished named =
      place.stoker({"predict", "latest", "quarters.csv", "--slower", "h1=hours.csv", "--every-window"});
  ASSERT_EQ(named.code, 0) << named.errors;
  const Finished in_order =
      place.stoker({"predict", "latest", "quarters.csv", "--slower", "hours.csv", "--every-window"});
  EXPECT_EQ(in_order.output, named.output);

  // The same from a series that was joined beforehand, as the card join_as_of does it.
  std::string joined = "time,x,h1_level\n";
  for (int hour = 1; hour < 200; ++hour)
    for (int i = 0; i < 4; ++i)
      joined += fmt::format("{},{},{}\n", 4 * hour + i, level(hour - 1) + 0.01 * i, level(hour - 1));
  place.write("joined.csv", joined);
  const Finished already = place.stoker({"predict", "latest", "joined.csv", "--every-window"});
  ASSERT_EQ(already.code, 0) << already.errors;
  EXPECT_EQ(already.output, named.output);
}

TEST_F(SlowerForecast, SaysWhatIsMissingOrTooMuch) {
  const auto expect_refused = [&](const std::vector<std::string>& more, const std::string& said) {
    std::vector<std::string> words{"predict", "latest", "quarters.csv"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = place.stoker(words);
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.output, "");
    EXPECT_THAT(finished.errors, HasSubstr(said));
  };
  expect_refused({}, "'h1_level', which comes from the slower table h1");
  expect_refused({"--slower", "h4=hours.csv"}, "there is no slower table 'h4'");
  expect_refused({"--slower", "hours.csv", "--slower", "hours.csv"}, "one table too many");
  expect_refused({"--slower", "h1=hours.csv", "--slower", "h1=hours.csv"}, "gives h1 twice");
  expect_refused({"--slower", "h1=nowhere.csv"}, "nowhere.csv");
  place.write("reversed.csv", "time,level\n8,1\n4,1\n");
  expect_refused({"--slower", "h1=reversed.csv"}, "sort the rows");
  ASSERT_EQ(place
                .stoker({"train", "quarters.csv", "--target", "x", "--windows", "2", "--time-column", "time",
                         "--model", "ridge", "--quiet"})
                .code,
            0);
  expect_refused({"--slower", "h1=hours.csv"}, "trained without slower tables");
}

// Hours of which the level is that of the day before, which only the table of days knows: dates with the day
// first, and codes that are text by their first one alone.
class DaysOfHours : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string days = days_from(1, 28, 1);
    place.write("hours.csv", hours_from(1, 28, 1));
    place.write("days.csv", days);
    place.write("new_hours.csv", hours_from(1, 5, 2));
    place.write("new_days.csv", days_from(1, 5, 2));
    place.write("all_days.csv", days + days_from(1, 5, 2).substr(days.find('\n') + 1));
  }
  static int code(int day) { return day % 3 == 0 ? 7 : 8; }
  static std::string days_from(int first, int last, int month) {
    std::string csv = "day,code,since,level\n";
    for (int day = first; day <= last; ++day)
      csv += fmt::format("{:02}/{:02}/2021,{},{:02}/{:02}/2020,{}\n", day, month,
                         month == 1 && day == 1 ? "x9" : fmt::format("00{}", code(day)), day, month, day % 5);
    return csv;
  }
  static std::string hours_from(int first, int last, int month) {
    std::string csv = "day,x\n";
    for (int day = first; day <= last; ++day)
      for (int hour = 0; hour < 24; ++hour)
        csv += fmt::format("{:02}/{:02}/2021 {:02}:00,{}\n", day, month, hour,
                           code(day - 1) + 0.01 * (hour % 7));
    return csv;
  }
  Finished train(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"train",         "hours.csv", "--target", "x",          "--windows", "3",
                                   "--time-column", "day",       "--slower", "d=days.csv", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return place.stoker(words);
  }

  Workplace place;
};

TEST_F(DaysOfHours, AreReadInAForecastAsInTheTraining) {
  const Finished trained = train({"--model", "ridge"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const Finished all = place.stoker({"predict", "latest", "new_hours.csv", "--slower", "d=all_days.csv"});
  ASSERT_EQ(all.code, 0) << all.errors;
  const Finished few = place.stoker({"predict", "latest", "new_hours.csv", "--slower", "d=new_days.csv"});
  ASSERT_EQ(few.code, 0) << few.errors;
  EXPECT_EQ(few.output, all.output);
  EXPECT_THAT(few.errors, Not(HasSubstr("unseen")));
}

TEST_F(DaysOfHours, TakeSettingsOfColumnsForTheTablesThatHaveThem) {
  const Finished trained = train({"--model", "ridge", "--text-columns", "code", "--date-columns",
                                  "d_since=%d/%m/%Y", "--date-columns", "day=%d/%m/%Y"});
  EXPECT_EQ(trained.code, 2);  // %d/%m/%Y is the form of days, not of hours
  EXPECT_THAT(trained.errors, HasSubstr("date_columns gives 'day' the form %d/%m/%Y"));
  const Finished by_table = train({"--model", "ridge", "--text-columns", "code", "--date-columns",
                                   "d_since=%d/%m/%Y", "--date-columns", "d_day=%d/%m/%Y"});
  ASSERT_EQ(by_table.code, 0) << by_table.errors;
  const Finished again =
      place.stoker({"predict", "latest", "new_hours.csv", "--slower", "d=new_days.csv", "--text-columns",
                    "code", "--date-columns", "since=%d/%m/%Y", "--date-columns", "d_day=%d/%m/%Y"});
  EXPECT_EQ(again.code, 0) << again.errors;
  const Finished unknown = train({"--model", "ridge", "--text-columns", "cods"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("cods"));
}

// Whether the look before the run finds the columns or not.
TEST_F(DaysOfHours, LetATemporalMlpReadTheWholeWindow) {
  for (const char* const target : {"x", "d_level"}) {
    const Workplace own;
    own.write("hours.csv", hours_from(1, 28, 1));
    own.write("days.csv", days_from(1, 28, 1));
    const Finished trained = own.stoker(
        {"train",         "hours.csv",    "--target", target,       "--windows",         "3",
         "--time-column", "day",          "--slower", "d=days.csv", "--feature-columns", "x,d_level",
         "--model",       "temporal_mlp", "--epochs", "1",          "--ensemble-folds",  "0",
         "--device",      "cpu",          "--quiet"});
    ASSERT_EQ(trained.code, 0) << trained.errors;
    EXPECT_THAT(newest_document(own), HasSubstr("moments: 3"));
  }
}

TEST(TrainOnASeries, ToldHorizonsAreThoseThatItTakes) {
  const Workplace place;
  const Finished help = place.stoker({"train", "--help"});
  const std::string text = std::regex_replace(help.output, std::regex("\\s+"), " ");
  EXPECT_THAT(text, HasSubstr("with --answer given 8 unless it is set (0 to 1000000; default 1)"));
  EXPECT_THAT(text, testing::ContainsRegex("--carry-forward[^-]*--no-carry-forward[^(]*\\(default true\\)"));
  std::string csv = "time,x,ahead\n";
  for (int i = 0; i < 100; ++i) csv += fmt::format("{},{},{}\n", i, i % 7, (i + 5) % 7 + 0.5);
  place.write("given.csv", csv);
  const Finished trained =
      place.stoker({"train", "given.csv", "--target", "ahead", "--windows", "6", "--time-column", "time",
                    "--answer", "given", "--model", "ridge", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  EXPECT_THAT(newest_document(place), HasSubstr("horizon: 8"));
}

// A walk of chance: nothing is better than to say that it stays where it is.
TEST(TheLastValue, IsWhatAForecastIsHeldAgainst) {
  const Workplace place;
  std::string csv = "time,x\n";
  double x = 0;
  unsigned state = 1;
  for (int i = 0; i < 400; ++i) {
    state = state * 1664525U + 1013904223U;
    x += static_cast<double>(state >> 16U) / 32768.0 - 1;
    csv += fmt::format("{},{:.5f}\n", i, x);
  }
  place.write("walk.csv", csv);
  const Finished finished = place.stoker({"train",
                                          "walk.csv",
                                          "--target",
                                          "x",
                                          "--windows",
                                          "30",
                                          "--answer",
                                          "path",
                                          "--horizon",
                                          "3",
                                          "--time-column",
                                          "time",
                                          "--model",
                                          "neural_network",
                                          "--ensemble-folds",
                                          "0",
                                          "--epochs",
                                          "1",
                                          "--hidden-layers",
                                          "4",
                                          "--quiet",
                                          "--json"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const auto json = nlohmann::json::parse(finished.output);
  EXPECT_THAT(json.at("warnings").dump(), HasSubstr("is not better than always predicting the last value"));
  const auto& baseline = json.at("evaluations").at("evaluate").at("baseline");
  ASSERT_EQ(baseline.at("by_step").size(), 3U);
  // The expected square of a step uniform in ±1 is 1/3, and steps add up.
  for (int step = 0; step < 3; ++step)
    EXPECT_NEAR(baseline.at("by_step")[static_cast<std::size_t>(step)].at("mse").get<double>(),
                (step + 1) / 3.0, 0.1 * (step + 1));
}

TEST(TrainOnASeries, SaysWhatIsWrongWithItsSettingsBeforeItTrains) {
  const Workplace place;
  place.write("towns.csv", hours_of_towns(96));
  std::string lonely = "time,town,degrees\n";
  for (int i = 0; i < 60; ++i) lonely += fmt::format("{},town{},{}\n", i, i, i % 7);
  place.write("lonely.csv", lonely);
  const auto expect_refused = [&](const std::string& data, const std::vector<std::string>& more,
                                  const std::string& said) {
    std::vector<std::string> words{
        "train", data,      "--target",  "degrees", "--time-column", "time", "--group-column",
        "town",  "--quiet", "--windows", "12",      "--device",      "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = place.stoker(words);
    EXPECT_EQ(finished.code, 2) << finished.errors;
    EXPECT_THAT(finished.errors, HasSubstr(said));
  };
  expect_refused("lonely.csv", {"--model", "gru"},
                 "length 12 is longer than every series: the longest series, 'town0', has 1 row");
  expect_refused("towns.csv", {"--model", "gru", "--schedule", "one_cycle", "--warmup-epochs", "2"},
                 "warmup_epochs: it is 2, but schedule is one_cycle");
  expect_refused("towns.csv", {"--model", "gru", "--precision", "tf32"}, "tf32 is a format of NVIDIA GPUs");
  expect_refused("towns.csv", {"--model", "ridge", "--answer", "path", "--horizon", "3"},
                 "ridge predicts one number, but answer: path asks for 3");
  expect_refused("towns.csv", {"--model", "ridge", "--threshold", "0.1"}, "is for answer: direction");
}

// Small moves, and after the 240th day moves ten times as large.
std::string calm_and_storm() {
  std::string days = "day,level\n";
  for (int day = 0; day < 300; ++day)
    days += std::to_string(day) + "," + std::to_string((day * 37 % 11 - 5) * (day < 240 ? 1 : 20)) + "\n";
  return days;
}

TEST(Intervals, ThatHeldFarLessThanTheyPromiseAreWarnedOfInTrainingAndPrediction) {
  const Workplace place;
  place.write("days.csv", calm_and_storm());
  const Finished trained =
      place.stoker({"train", "days.csv", "--target", "level", "--windows", "3", "--time-column", "day",
                    "--model", "ridge", "--ensemble-folds", "4", "--device", "cpu", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const std::string finding = "intervals of 90 % hold ";
  EXPECT_THAT(trained.errors, HasSubstr(finding));
  const auto json = nlohmann::json::parse(trained.output);
  const auto& cautions = json.at("evaluations").at("evaluate").at("cautions");
  EXPECT_EQ(cautions.at(0).at("about"), "intervals");
  EXPECT_THAT(cautions.at(0).at("text").get<std::string>(), HasSubstr("--new-from"));
  EXPECT_THAT(json.at("warnings").dump(), HasSubstr(finding));
  EXPECT_THAT(place.read(json.at("report").get<std::string>()), HasSubstr(finding));
  EXPECT_THAT(place.stoker({"runs", "show", "latest"}).output, HasSubstr(finding));
  EXPECT_THAT(place.stoker({"predict", "latest", "days.csv", "--interval", "90"}).errors, HasSubstr(finding));
  EXPECT_THAT(place.stoker({"predict", "latest", "days.csv"}).errors, testing::Not(HasSubstr(finding)));
}

TEST(ARandomSplit, OfRowsInTheOrderOfADateIsWarnedOf) {
  const Workplace place;
  std::string rows = "date,x,y\n";
  for (int day = 0; day < 112; ++day) {
    const int of_month = day % 28 + 1;
    rows += "2024-0" + std::to_string(day / 28 + 1) + (of_month < 10 ? "-0" : "-") +
            std::to_string(of_month) + "," + std::to_string(day * 37 % 11) + "," +
            std::to_string(day * 37 % 11 * 2) + "\n";
  }
  place.write("days.csv", rows);
  const auto trained = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"train", "days.csv", "--target", "y", "--model", "ridge"};
    words.insert(words.end(), more.begin(), more.end());
    return place.stoker(words);
  };
  EXPECT_THAT(trained({}).errors, AllOf(HasSubstr("the rows are in the order of 'date'"),
                                        HasSubstr("--time-column date --test-from")));
  EXPECT_THAT(trained({"--time-column", "date", "--test-from", "2024-04-01"}).errors,
              testing::Not(HasSubstr("in the order of")));
}

TEST(AQuantile, IsWhatItsModelsAreMeasuredByFirst) {
  const Workplace place;
  const Finished trained =
      place.stoker({"train", "sample:friedman", "--sample-rows", "600", "--target", "y", "--loss", "quantile",
                    "--quantile", "0.9", "--epochs", "5", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const auto json = nlohmann::json::parse(trained.output);
  const auto& evaluation = json.at("evaluations").at("evaluate");
  EXPECT_EQ(evaluation.at("importance").at("metric"), "pinball_loss");
  EXPECT_EQ(evaluation.at("verdict").at("metric"), "pinball_loss");
  EXPECT_EQ(evaluation.at("baseline").at("predicts"), "the 0.9 quantile of training");
  EXPECT_THAT(place.stoker({"runs"}).output, HasSubstr("pinball_loss"));
  EXPECT_THAT(place.read(json.at("report").get<std::string>()), HasSubstr("How much Pinball loss rises"));
}

}  // namespace
}  // namespace stoker::test
