// Predictions from a model folder alone, and what is said when it or the table is not right.
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class Predict : public testing::Test {
 protected:
  Predict() {
    place_.write("houses.csv", small_table(120));
    const Finished trained = place_.stoker(
        {"train", "houses.csv", "--target", "y", "--model", "linear_regression", "--json", "--quiet"});
    EXPECT_EQ(trained.code, 0) << trained.errors;
    model_ = place_.folder() / nlohmann::json::parse(trained.output).at("model").get<std::string>();
  }

  void expect_refused(const std::vector<std::string>& words, const std::vector<std::string>& said) {
    std::vector<std::string> all{"predict"};
    all.insert(all.end(), words.begin(), words.end());
    const Finished finished = place_.stoker(all);
    EXPECT_EQ(finished.code, 2) << finished.errors;
    EXPECT_EQ(finished.output, "");
    for (const std::string& each : said) EXPECT_THAT(finished.errors, HasSubstr(each));
  }

  Workplace place_;
  fs::path model_;
};

TEST_F(Predict, KeepsTheOrderOfTheRows) {
  // y = 1 + 2 a - 3 b exactly, so each prediction says which row it belongs to.
  place_.write("new.csv", "kind,b,a\nflat,0,5\nhouse,1,1\nflat,2,9\nhouse,0,0\n");
  const Finished finished = place_.stoker({"predict", model_.string(), "new.csv"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const auto lines = lines_of(finished.output);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[0], HasSubstr("prediction"));
  const double expected[] = {11, 0, 13, 1};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(std::stod(lines[static_cast<std::size_t>(i) + 1]), expected[i], 1e-6);
}

TEST_F(Predict, TakesNoColumnThatTheModelHasFoundForAMistypedOne) {
  place_.write("new.csv", "kind,b\nflat,0\n");
  const Finished finished = place_.stoker({"predict", model_.string(), "new.csv"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors,
              testing::AllOf(HasSubstr("lacks column 'a'"), testing::Not(HasSubstr("did you mean"))));
  place_.write("new.csv", "kind,b,A\nflat,0,1\n");
  expect_refused({model_.string(), "new.csv"}, {"lacks column 'a'", "did you mean A?"});
}

TEST_F(Predict, NeedsTheModelFolderAlone) {
  fs::rename(model_, place_.folder() / "elsewhere");
  fs::remove_all(place_.folder() / "runs");
  EXPECT_EQ(place_.stoker({"predict", "elsewhere", "houses.csv", "--output", "p.parquet"}).code, 0);
  EXPECT_TRUE(fs::exists(place_.folder() / "p.parquet"));
  // What was written is a source like any other.
  EXPECT_EQ(
      place_.stoker({"predict", "elsewhere", "houses.csv", "--include-features", "--output", "q.arrow"}).code,
      0);
  EXPECT_EQ(place_.stoker({"predict", "elsewhere", "q.arrow"}).code, 0);
}

TEST_F(Predict, CarriesTheInputColumnsThrough) {
  const Finished finished = place_.stoker({"predict", "latest", "houses.csv", "--include-features"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const auto lines = lines_of(finished.output);
  EXPECT_EQ(lines.size(), 121U);
  for (const char* each : {"a", "b", "kind", "y", "prediction"}) EXPECT_THAT(lines[0], HasSubstr(each));
}

TEST_F(Predict, JsonHoldsOnePredictionPerRow) {
  const auto json =
      nlohmann::json::parse(place_.stoker({"predict", "latest", "houses.csv", "--json"}).output);
  EXPECT_EQ(json.at("rows"), 120);
  EXPECT_EQ(json.at("predictions").size(), 120U);
}

TEST_F(Predict, ReadsTheDataAsTheFlagsSay) {
  place_.write("new.dat", "kind;b;a\nflat;0;5\nhouse;1;1\n");
  const Finished finished =
      place_.stoker({"predict", "latest", "new.dat", "--format", "csv", "--delimiter", ";"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const auto lines = lines_of(finished.output);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NEAR(std::stod(lines[1]), 11, 1e-6);
  expect_refused({"latest", "new.dat", "--format", "xls"}, {"format"});
  expect_refused({"latest", "new.dat", "--url-timeout", "0"}, {"url"});
}

TEST_F(Predict, WritesAFileUnderEitherNameOfTheFlag) {
  place_.write("new.csv", "kind,b,a\nflat,0,5\n");
  for (const std::string flag : {"--output", "--out"}) {
    const Finished finished = place_.stoker({"predict", "latest", "new.csv", flag, "y" + flag + ".csv"});
    EXPECT_EQ(finished.code, 0) << finished.errors;
    EXPECT_EQ(finished.output, "y" + flag + ".csv: 1 prediction of y\n");
    EXPECT_EQ(lines_of(place_.read("y" + flag + ".csv")).size(), 2U);
  }
  expect_refused({"latest", "new.csv", "--out", "runs"}, {"is a folder", "--runs"});
  fs::rename(place_.folder() / "runs", place_.folder() / "elsewhere");
  EXPECT_EQ(place_.stoker({"predict", "latest", "new.csv", "--runs", "elsewhere"}).code, 0);
}

TEST_F(Predict, LatestPassesOverARunWithoutAModel) {
  place_.write("pipeline.yaml", ridge_document());
  const std::string trained = model_.parent_path().filename().string();
  const auto only = nlohmann::json::parse(
      place_.stoker({"run", "pipeline.yaml", "--only", "split", "--json", "--quiet"}).output);
  const Finished finished = place_.stoker({"predict", "latest", "houses.csv"});
  EXPECT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(finished.errors, testing::AllOf(HasSubstr(only.at("run")), HasSubstr(trained)));
  fs::remove_all(model_);
  expect_refused({"latest", "houses.csv"}, {"no run in runs has a model", only.at("run")});
}

TEST_F(Predict, KnowsItsTextsAgainInAFileThatHasOnlySomeOfThem) {
  std::string rows = "a,c,y\n";
  for (int i = 0; i < 60; ++i) {
    const int kind = i % 3;
    rows += std::to_string(i % 7) + (kind == 0 ? ",True,10\n" : kind == 1 ? ",False,20\n" : ",Maybe,30\n");
  }
  place_.write("words.csv", rows);
  ASSERT_EQ(place_
                .stoker({"train", "words.csv", "--target", "y", "--task", "regression", "--model",
                         "linear_regression", "--name", "words", "--quiet"})
                .code,
            0);
  place_.write("new.csv", "a,c\n1,True\n1,False\n");
  const auto lines = lines_of(place_.stoker({"predict", "latest", "new.csv"}).output);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NEAR(std::stod(lines[1]), 10, 1e-6);
  EXPECT_NEAR(std::stod(lines[2]), 20, 1e-6);
}

TEST_F(Predict, SaysWhatWasFilledInAndWhatIsNew) {
  place_.write("gaps.csv", "a,b,kind\n1,2,marble\n,2,marble\n1,2,\n");
  const Finished finished = place_.stoker({"predict", "latest", "gaps.csv", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(finished.errors,
              HasSubstr("missing values were filled in: 1 in 'a', 1 in 'kind'; values that training "
                        "had not seen, or only once: 2 in 'kind'"));
  const auto json = nlohmann::json::parse(finished.output);
  EXPECT_EQ(json.at("unseen"), (nlohmann::json{{"kind", 2}}));
  EXPECT_EQ(json.at("filled"), (nlohmann::json{{"a", 1}, {"kind", 1}}));
}

TEST_F(Predict, SaysWhichNumbersLieFarFromThoseOfTraining) {
  place_.write("far.csv", "a,b,kind\n1,2,flat\n1e9,2,flat\n-1e9,2,flat\n");
  const Finished finished = place_.stoker({"predict", "latest", "far.csv", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  EXPECT_THAT(finished.errors, HasSubstr("values far from those of training: 2 in 'a' ("));
  const auto json = nlohmann::json::parse(finished.output);
  ASSERT_EQ(json.at("outside").size(), 1U);
  EXPECT_EQ(json.at("outside").at("a").at("rows"), 2);
  EXPECT_LT(json.at("outside").at("a").at("low"), json.at("outside").at("a").at("high"));
}

TEST_F(Predict, RefusesDatesInPlaceOfNumbersAndSettingsOfSamples) {
  place_.write("dates.csv", "a,b,kind\n1975-01-01,2,flat\n");
  expect_refused({"latest", "dates.csv"},
                 {"'a' contains dates, but held numbers in training: 1975-01-01 in row 1"});
  expect_refused({"latest", "houses.csv", "--sample-rows", "5"},
                 {"--sample-rows is not a setting of houses.csv; it belongs to built-in samples"});
  expect_refused({"latest", "houses.csv", "--sample-seed", "5"}, {"--sample-seed is not a setting of"});
}

// Cars of model years, as dates.
TEST(PredictDates, NumbersAreRefusedAndYearsFarAwayNoted) {
  const Workplace place;
  std::string table = "year,weight,y\n";
  for (int i = 0; i < 60; ++i)
    table += fmt::format("{}-01-01,{},{}\n", 1970 + i % 13, 1500 + 37 * i, 0.5 * i + i % 13);
  place.write("cars.csv", table);
  ASSERT_EQ(place.stoker({"train", "cars.csv", "--target", "y", "--model", "ridge"}).code, 0);
  place.write("number.csv", "year,weight\n1975,2000\n");
  place.write("rows.jsonl", "{\"year\": 1975, \"weight\": 2000}\n");
  for (const char* file : {"number.csv", "rows.jsonl"}) {
    const Finished refused = place.stoker({"predict", "latest", file});
    EXPECT_EQ(refused.code, 2) << file << refused.output;
    EXPECT_THAT(refused.errors, HasSubstr("'year' contains numbers, but held dates (such as 1970-01-01)"))
        << file;
  }
  place.write("far.csv", "year,weight\n2044-01-01,2000\n");
  const Finished far = place.stoker({"predict", "latest", "far.csv", "--json"});
  ASSERT_EQ(far.code, 0) << far.errors;
  EXPECT_THAT(far.errors,
              HasSubstr("values far from those of training: 1 in 'year' (1970-01-01 to 1982-01-01)"));
  EXPECT_EQ(nlohmann::json::parse(far.output).at("outside").at("year").at("high"), "1982-01-01");
}

TEST_F(Predict, NamesAColumnThatIsMissing) {
  place_.write("new.csv", "a,kind\n1,flat\n2,house\n");
  expect_refused({"latest", "new.csv"}, {"b"});
}

TEST_F(Predict, RefusesAModelFolderWithAMissingFile) {
  fs::remove(model_ / "model.safetensors");
  expect_refused({model_.string(), "houses.csv"}, {"model.safetensors"});
}

TEST_F(Predict, RefusesATruncatedFile) {
  fs::resize_file(model_ / "model.safetensors", fs::file_size(model_ / "model.safetensors") - 5);
  expect_refused({model_.string(), "houses.csv"}, {"model.safetensors"});
}

TEST_F(Predict, RefusesAForeignFile) {
  place_.write(fs::relative(model_ / "model.json", place_.folder()).string(),
               "{\"made_by\": \"someone else\"}");
  expect_refused({model_.string(), "houses.csv"}, {"model.json"});
}

TEST_F(Predict, RefusesAFolderThatIsNoModel) {
  fs::create_directory(place_.folder() / "empty");
  expect_refused({"empty", "houses.csv"}, {"empty"});
  expect_refused({"nowhere/model", "houses.csv"}, {"nowhere/model"});
}

TEST_F(Predict, LeavesAnEarlierFileWholeWhenItIsRefused) {
  place_.write("p.csv", "kept\n");
  place_.write("new.csv", "a,kind\n1,flat\n");
  expect_refused({"latest", "new.csv", "--output", "p.csv"}, {"b"});
  EXPECT_EQ(place_.read("p.csv"), "kept\n");
}

TEST_F(Predict, DoesNotLoadLibTorchForAFamilyThatNeedsNone) {
  const Finished trained =
      place_.stoker({"train", "houses.csv", "--target", "y", "--epochs", "1", "--device", "cpu", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  // The loader itself says which libraries it opens.
  Program program({"/usr/bin/env", "LD_DEBUG=files", STOKER_PROGRAM, "predict", "latest", "houses.csv"},
                  place_.folder());
  const Finished finished = program.wait();
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.errors, HasSubstr("libstoker.so"));
  EXPECT_THAT(finished.errors, testing::Not(HasSubstr("libtorch")));
}

class PredictByModule : public Predict {
 protected:
  PredictByModule() {
    const Finished trained = place_.stoker({"train", "houses.csv", "--target", "y", "--model", "residual_mlp",
                                            "--epochs", "20", "--device", "cpu", "--json", "--quiet"});
    EXPECT_EQ(trained.code, 0) << trained.errors;
    const auto run = nlohmann::json::parse(trained.output);
    model_ = place_.folder() / run.at("model").get<std::string>();
    r2_ = run.at("evaluations").at("evaluate").at("metrics").at("r2").get<double>();
  }

  double r2_ = 0;
};

TEST_F(PredictByModule, PredictsWhatItHasLearnt) {
  EXPECT_GT(r2_, 0.5);
  const Finished finished = place_.stoker({"predict", model_.string(), "houses.csv", "--include-features"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  double sum = 0;
  double squares = 0;
  double errors = 0;
  const auto lines = lines_of(finished.output);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::istringstream cells(lines[i]);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    const double y = std::stod(row.at(row.size() - 2));
    sum += y;
    squares += y * y;
    errors += std::pow(y - std::stod(row.back()), 2);
  }
  const auto count = static_cast<double>(lines.size() - 1);
  EXPECT_EQ(count, 120);
  EXPECT_GT(1 - errors / (squares - sum * sum / count), 0.5);
}

// The program with its own library beside it, and nothing that brings LibTorch.
TEST_F(PredictByModule, SaysWhichModelNeedsLibTorchWhereItIsMissing) {
  const fs::path built = fs::path(STOKER_PROGRAM).parent_path();
  const fs::path elsewhere = place_.folder() / "elsewhere";
  fs::create_directory(elsewhere);
  for (const char* file : {"stoker", "libstoker.so"}) fs::copy_file(built / file, elsewhere / file);
  const auto run_there = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all{(elsewhere / "stoker").string()};
    all.insert(all.end(), words.begin(), words.end());
    return Program(all, place_.folder()).wait();
  };
  const Finished missing = run_there({"predict", model_.string(), "houses.csv"});
  EXPECT_EQ(missing.code, 2) << missing.errors;
  EXPECT_EQ(missing.output, "");
  EXPECT_THAT(missing.errors, testing::AllOf(HasSubstr("predicting with residual_mlp needs LibTorch"),
                                             HasSubstr("tools/setup")));
  const Finished training =
      run_there({"train", "houses.csv", "--target", "y", "--model", "residual_mlp", "--device", "cpu"});
  EXPECT_EQ(training.code, 2) << training.errors;
  EXPECT_THAT(training.errors, HasSubstr("training residual_mlp needs LibTorch"));
  place_.write("elsewhere/libstoker_torch.so", "not a library");
  const Finished broken = run_there({"predict", model_.string(), "houses.csv"});
  EXPECT_EQ(broken.code, 2) << broken.errors;
  EXPECT_THAT(broken.errors,
              testing::AllOf(HasSubstr("which could not be loaded"), HasSubstr("tools/setup")));
}

}  // namespace
}  // namespace stoker::test
