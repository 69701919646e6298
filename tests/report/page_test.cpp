#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/error.h"
#include "report/run/report.h"
#include "report/run_folder.h"

namespace stoker {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunFolder;

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t start = text.find(from);
  if (start == std::string::npos) return "";
  const std::size_t end = text.find(to, start + from.size());
  return text.substr(start + from.size(), end - start - from.size());
}

nlohmann::json data_of(const std::string& page) {
  return nlohmann::json::parse(between(page, "id=\"data\">", "</script>"));
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// As a content security policy names a script, by OpenSSL.
std::string policy_hash(const std::string& element) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(element.data()), element.size(), digest.data());
  std::array<unsigned char, 64> text{};
  const int size = EVP_EncodeBlock(text.data(), digest.data(), digest.size());
  return "'sha256-" + std::string(text.begin(), text.begin() + size) + "'";
}

TEST(Report, OfARegressionTellsEverythingOfTheRun) {
  RunFolder run;
  run.record().warnings = {"the column ID was left out"};
  run.record().notes = {"3 values were filled in"};
  run.save();
  run.write_document("version: 1\nname: boston-housing\n");
  run.write_metrics({"train"}, true);
  run.write_evaluation("evaluate", testing::regression_of("MEDV"));
  write_report(run.paths());
  const std::string page = run.report();
  for (const char* part : {"<title>boston-housing</title>",
                           "<li>3 values were filled in</li>",
                           "2026-11-15_10-20-30_boston-housing",
                           "2026-11-15 10:20:30 UTC",
                           "1 min 04 s",
                           "<dt>R²</dt><dd>0.9832</dd>",
                           "<dt>RMSE</dt><dd>11.427</dd>",
                           "10,000",
                           "neural_network",
                           "12,161",
                           "eager",
                           "62,500",
                           "stopped early",
                           "<th scope=\"row\">Best epoch</th><td>41</td>",
                           "reused",
                           "data_load",
                           "the column ID was left out",
                           "name: boston-housing\n",
                           "Neoverse-N1",
                           "329.0 MiB",
                           "2.13.0",
                           "none used"})
    EXPECT_THAT(page, HasSubstr(part));
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data["curves"].size(), 1U);
  EXPECT_EQ(data["curves"][0]["epochs"].size(), 50U);
  EXPECT_EQ(data["curves"][0]["best"], 41);
  ASSERT_EQ(data["curves"][0]["courses"].size(),
            1U);  // of constant rates and unknown norms there is no chart
  EXPECT_EQ(data["curves"][0]["courses"][0]["name"], "rows_per_second");
  EXPECT_EQ(data["curves"][0]["courses"][0]["values"].size(), 50U);
  EXPECT_EQ(occurrences(page, "data-kind=\"course\""), 1U);
  EXPECT_EQ(data["scatters"][0]["actual"].size(), 2'000U);
  EXPECT_EQ(data["scatters"][0]["target"], "MEDV");
  EXPECT_TRUE(std::is_sorted(data["scatters"][0]["actual"].begin(), data["scatters"][0]["actual"].end()));
  EXPECT_THAT(page, Not(HasSubstr("Confusion matrix")));
}

TEST(Report, OfAClassificationHasTheConfusionMatrixAsATable) {
  RunFolder run;
  run.record().results = {
      {"evaluate", 2'900, {{"accuracy", 0.9312}, {"macro_f1", 0.9298}, {"roc_auc", 0.9911}}}};
  run.save();
  run.write_evaluation("evaluate",
                       testing::classification_of("species", {"setosa", "versicolor", "virginica"}));
  write_report(run.paths());
  const std::string table = between(run.report(), "<table class=\"confusion\">", "</table>");
  EXPECT_EQ(occurrences(table, "<td "), 9U);
  EXPECT_THAT(table, HasSubstr(">940</td>"));
  EXPECT_THAT(table, HasSubstr("shade-20 dark"));
  EXPECT_THAT(table, HasSubstr(">versicolor</th>"));
  EXPECT_THAT(run.report(), HasSubstr("<dt>ROC AUC</dt><dd>0.9911</dd>"));
  EXPECT_TRUE(data_of(run.report())["scatters"].empty());
}

TEST(Report, AnswersWhatPeopleAskOfAModel) {
  RunFolder run;
  RunRecord& record = run.record();
  record.sources = {"houses & flats.csv"};
  record.trainings[0].target = "kind";
  record.trainings[0].task = "binary";
  record.trainings[0].rows = 32577;
  record.trainings[0].features = 9;
  record.trainings[0].metrics = {{"accuracy", 0.96}};
  record.trainings[0].measured_rows = 32577;
  record.trainings[0].coefficients = {{"(intercept)", "", 1061234567}, {"roof=<tin>", "", -0.5}};
  record.results = {{"evaluate", 114, {{"accuracy", 0.9312}}, "train"}};
  run.save();
  Evaluation evaluation = testing::classification_of("kind", {"flat", "house"});
  evaluation.intervals = {{"accuracy", 0.88, 0.97, 0.02}};
  evaluation.baselines = {Baseline{"the most frequent class", {{"accuracy", 0.657}}}};
  evaluation.charts.push_back(
      ClassScores{{"flat", "house"}, {0.91, 0.92}, {0.93, 0.94}, {0.95, 0.96}, {75, 39}});
  evaluation.charts.push_back(
      ColumnImportance{"accuracy", 114, 5, {"rooms", "<b>"}, {0.25, 0.01}, {0.02, 0.01}});
  evaluation.charts.push_back(Calibration{"house", {0.1, 0.9}, {0.05, 0.85}, {80, 34}, 0.0375});
  run.write_evaluation("evaluate", evaluation);
  write_report(run.paths());
  const std::string page = run.report();
  for (const char* part :
       {"kind (binary) from 9 columns of houses &amp; flats.csv: 32,577 rows to train on, 114 to test with",
        "0.8800 to 0.9700<br>training rows 0.9600<br>the most frequent class 0.6570",
        "<td>house</td><td class=\"number\">0.9200</td><td class=\"number\">0.9400</td>",
        "How much Accuracy falls", "<td>&lt;b&gt;</td>", "0.25 ± 0.02",
        "expected calibration error, is 0.0375", "roof=&lt;tin&gt;", "1,061,234,567"})
    EXPECT_THAT(page, HasSubstr(part));
}

TEST(Report, TellsHowGoodAForecastIsAtEachStep) {
  RunFolder run;
  Evaluation evaluation = testing::regression_of("close");
  evaluation.by_step = {{{"r2", 0.91}, {"rmse", 1.25}}, {{"r2", 0.82}, {"rmse", 2.5}}};
  evaluation.baselines = {Baseline{"the last value",
                                   {{"r2", 0.7}, {"rmse", 3}},
                                   {{{"r2", 0.8}, {"rmse", 2}}, {{"r2", 0.6}, {"rmse", 4}}}}};
  run.write_evaluation("evaluate", evaluation);
  write_report(run.paths());
  const std::string page = run.report();
  EXPECT_THAT(page, HasSubstr("<h2>Steps ahead</h2>"));
  EXPECT_THAT(page, HasSubstr("RMSE by steps ahead"));
  EXPECT_THAT(page, HasSubstr("<tr><td class=\"number\">2</td><td class=\"number\">0.82</td>"
                              "<td class=\"number\">2.5</td></tr>"));
  const nlohmann::json steps = data_of(page)["steps"].at(0);
  EXPECT_EQ(steps["values"], nlohmann::json({1.25, 2.5}));
  EXPECT_EQ(steps["plain"], nlohmann::json({2, 4}));
  EXPECT_EQ(steps["predicts"], "the last value");

  RunFolder without;
  without.write_evaluation("evaluate", testing::regression_of("close"));
  write_report(without.paths());
  EXPECT_THAT(without.report(), Not(HasSubstr("Steps ahead</h2>")));
}

TEST(Report, OfManyClassesListsTheMostFrequentMistakes) {
  RunFolder run;
  std::vector<std::string> classes;
  for (int i = 0; i < 200; ++i) classes.push_back(fmt::format("class {}", i));
  run.write_evaluation("evaluate", testing::classification_of("kind", classes));
  write_report(run.paths());
  EXPECT_THAT(run.report(), HasSubstr("200 classes; the most frequent mistakes"));
  EXPECT_EQ(occurrences(run.report(), "<tr><td>class "), 30U);
}

TEST(Report, WithoutValidationHasOneCurve) {
  RunFolder run;
  run.write_metrics({"train"}, false);
  write_report(run.paths());
  const nlohmann::json data = data_of(run.report());
  EXPECT_TRUE(data["curves"][0]["validation"].is_null());
  EXPECT_EQ(data["curves"][0]["training"].size(), 50U);
  EXPECT_THAT(run.report(), HasSubstr("Loss by epoch"));
  EXPECT_THAT(run.report(), Not(HasSubstr("Predicted against actual")));
}

TEST(Report, OfAFailedRunWithNothingElseSaysWhatWentWrong) {
  RunFolder run;
  run.record() = {};
  run.record().status = RunStatus::failed;
  run.record().error = "data.csv:7: 3 fields instead of 4";
  run.save();
  write_report(run.paths());
  EXPECT_THAT(run.report(), HasSubstr("data.csv:7: 3 fields instead of 4"));
  EXPECT_THAT(run.report(), HasSubstr("<span class=\"status failed\">"));
  EXPECT_THAT(run.report(), Not(HasSubstr("<figure")));
}

TEST(Report, ChecksTheLogSwitchWhereTheLossSpansDecades) {
  RunFolder run;
  run.write_metrics({"train"}, false, 0.9);
  write_report(run.paths());
  EXPECT_THAT(run.report(), HasSubstr("class=\"log\"> logarithmic"))
      << "1.01 to 0.016 are less than two decades";
  run.write_metrics({"train"}, false, 1.2);
  write_report(run.paths());
  EXPECT_THAT(run.report(), HasSubstr("class=\"log\" checked> logarithmic"));
}

TEST(Report, NamesCardsWhereThereAreSeveral) {
  RunFolder run;
  run.record().trainings.push_back(run.record().trainings[0]);
  run.record().trainings[1].card = "train_two";
  run.record().results.push_back(run.record().results[0]);
  run.record().results[1].card = "evaluate_two";
  run.save();
  run.write_metrics({"train", "train_two"}, true);
  run.write_evaluation("evaluate_two", testing::regression_of("second"));
  run.write_evaluation("evaluate", testing::regression_of("first"));
  write_report(run.paths());
  EXPECT_THAT(run.report(), HasSubstr("Loss by epoch · train_two"));
  EXPECT_THAT(run.report(), HasSubstr("<h3>evaluate_two</h3>"));
  EXPECT_EQ(data_of(run.report())["scatters"][0]["target"], "first") << "in the order of the record";
}

TEST(Report, EscapesEveryTextFromOutside) {
  const std::string evil = "<script>alert(1)</script>\"'&\u2028<!--";
  RunFolder run;
  run.record().name = evil;
  run.record().error = evil;
  run.record().warnings = {evil};
  run.record().notes = {evil};
  run.record().cpu = run.record().gpu = run.record().torch_version = run.record().stoker_version = evil;
  run.record().started = evil;
  run.record().cards = {{evil, evil, false, 1}};
  run.record().trainings = {{evil, evil, evil, evil, evil, evil, 1, 0, 1, 1, 1},
                            {evil, evil, evil, evil, evil, evil, 1, 0, 1, 1, 1}};
  run.record().results = {{evil, 1, {{evil, 1}}}, {evil, 1, {{evil, 1}}}};
  run.save();
  run.write_document(evil + "{{data}}");
  run.write_evaluation("one", testing::regression_of(evil));
  run.write_evaluation("t<i>wo", testing::classification_of(evil, {evil, "b"}));
  write_report(run.paths());
  const std::string page = run.report();
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_EQ(occurrences(page, "</script>"), 6U);
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
  EXPECT_THAT(page, HasSubstr("{{data}}")) << "what is put into the template is not filled again";
  const std::string data = between(page, "id=\"data\">", "</script>");
  EXPECT_THAT(data, Not(HasSubstr("<")));
  EXPECT_THAT(data, Not(HasSubstr("\u2028")));
  EXPECT_EQ(data_of(page)["scatters"][0]["target"], evil);
}

TEST(Report, AllowsItsOwnScriptsAndNothingElse) {
  RunFolder run;
  write_report(run.paths());
  const std::string page = run.report();
  const std::string policy = between(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
  // No element that could ask for anything.
  for (const char* part : {"<link", "<img", "<iframe", " src=", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(part))) << part;
  EXPECT_EQ(occurrences(policy, "'sha256-"), 7U);
  for (std::size_t at = page.find("<script>"); at != std::string::npos; at = page.find("<script>", at + 1))
    EXPECT_THAT(policy, HasSubstr(policy_hash(between(page.substr(at), "<script>", "</script>"))));
  for (std::size_t at = page.find("<style>"); at != std::string::npos; at = page.find("<style>", at + 1))
    EXPECT_THAT(policy, HasSubstr(policy_hash(between(page.substr(at), "<style>", "</style>"))));
}

TEST(Report, RefusesADamagedFileByItsName) {
  RunFolder run;
  make_folder(run.paths().evaluations());
  write_file(run.paths().evaluations() / "evaluate.json", "{\"task\": \"regression\"}");
  try {
    write_report(run.paths());
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("evaluate.json"));
  }
  Evaluation uneven = testing::regression_of("MEDV");
  std::get<PredictedAgainstActual>(uneven.charts.front()).predicted.pop_back();
  run.write_evaluation("evaluate", uneven);
  EXPECT_THROW(write_report(run.paths()), Error);
  EXPECT_FALSE(std::filesystem::exists(run.paths().report()));
}

TEST(Report, SaysWhenAnEvaluationIsTooLargeToBeShown) {
  RunFolder run;
  make_folder(run.paths().evaluations());
  write_file(run.paths().evaluations() / "huge.json", "");
  std::filesystem::resize_file(run.paths().evaluations() / "huge.json", 200U << 20);  // sparse
  write_report(run.paths());
  EXPECT_THAT(run.report(), HasSubstr("the evaluation huge is too large to be drawn (200.0 MiB)"));
}

TEST(Report, CanBeWrittenAgain) {
  RunFolder run;
  run.write_metrics({"train"}, true);
  write_report(run.paths());
  const std::string first = run.report();
  write_report(run.paths());
  EXPECT_EQ(run.report(), first);
}

}  // namespace
}  // namespace stoker
