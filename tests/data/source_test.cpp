#include "data/source/source.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using ::testing::HasSubstr;

std::vector<double> column_of(const Table& table, const std::string& name) {
  return read_numbers(*table.columns->column(column_position(table, name)));
}

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double covariance(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = mean(x);
  const double mean_y = mean(y);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - mean_x) * (y[i] - mean_y);
  return sum / static_cast<double>(x.size());
}

Table sample(const std::string& name) {
  return Source::open(Source::config_for("sample:" + name), ".").read();
}

TEST(Source, IsTakenFromTheDocumentsFolder) {
  const TestFolder folder;
  folder.write("a.csv", "x\n1\n");
  SourceConfig config;
  config.path = "a.csv";
  EXPECT_EQ(Source::open(config, folder.path()).read().rows(), 1);
}

TEST(Source, RefusesAFileThatIsNotThere) {
  EXPECT_THAT(refusal([] { read_source("/nowhere/houses.csv"); }),
              HasSubstr("the file '/nowhere/houses.csv' does not exist"));
  EXPECT_THAT(refusal([] { read_source("/tmp"); }), HasSubstr("is not a file"));
}

TEST(Source, RefusesAFormatThatNothingTells) {
  const TestFolder folder;
  const auto path = folder.write("houses.xyz", "a,b\n1,2\n");
  EXPECT_THAT(refusal([&] { read_source(path); }), HasSubstr("set format"));
  SourceConfig config = Source::config_for(path.string());
  config.format = SourceFormat::csv;
  EXPECT_EQ(Source::open(config, ".").read().rows(), 1);
}

TEST(Source, RefusesToOpenWithoutItsPlace) {
  SourceConfig config;
  EXPECT_THAT(refusal([&] { Source::open(config, "."); }), HasSubstr("path: missing"));
  config.source = SourceKind::url;
  EXPECT_THAT(refusal([&] { Source::open(config, "."); }), HasSubstr("url: missing"));
  EXPECT_THAT(refusal([] { Source::config_for("sample:friedmann"); }), HasSubstr("did you mean friedman"));
}

TEST(Source, ChangesItsFingerprintWithItsRowsAlone) {
  const TestFolder folder;
  const auto fingerprint = [&](const std::string& name, const std::string& content) {
    return Source::open(Source::config_for(folder.write(name, content).string()), ".").fingerprint();
  };
  const std::string first = fingerprint("a.csv", "x\n1\n");
  EXPECT_EQ(fingerprint("b.csv", "x\n1\n"), first);
  EXPECT_NE(fingerprint("a.csv", "x\n2\n"), first);
  EXPECT_NE(fingerprint("a.tsv", "x\n1\n"), first);
  SourceConfig config = Source::config_for("sample:blobs");
  const std::string usual = Source::open(config, ".").fingerprint();
  config.sample_rows = 20'000;
  EXPECT_EQ(Source::open(config, ".").fingerprint(), usual);
  config.sample_seed = 43;
  EXPECT_NE(Source::open(config, ".").fingerprint(), usual);
}

// Rows under the fingerprint of other rows would be served for those from then on.
TEST(Source, RefusesAFileThatWasWrittenToAfterItsFingerprintWasTaken) {
  const TestFolder folder;
  const auto refusal_after = [&](const std::function<void()>& change) {
    const Source source = Source::open(Source::config_for(folder.write("a.csv", "x\n1\n").string()), ".");
    change();
    return refusal([&] { source.read(); });
  };
  const std::string says = "'" + (folder.path() / "a.csv").string() + "' was written to";
  EXPECT_THAT(refusal_after([&] { folder.write("a.csv", "x\n2\n"); }), HasSubstr(says)) << "of equal size";
  EXPECT_THAT(refusal_after([&] { folder.write("a.csv", "x\n1\n2\n"); }), HasSubstr(says));
  EXPECT_THAT(refusal_after([&] { write_file(folder.path() / "a.csv", "x\n3\n"); }), HasSubstr(says));
  EXPECT_THAT(refusal_after([&] { folder.write("a.csv", "x\n1,2\n"); }), HasSubstr(says))
      << "and is ragged now";
  EXPECT_THAT(refusal_after([&] { std::filesystem::remove(folder.path() / "a.csv"); }),
              HasSubstr("does not exist"));
}

TEST(Source, ReadsAFileThatWasOnlyTouchedOrWrittenAnewAsItWas) {
  const TestFolder folder;
  const auto path = folder.write("a.csv", "x\n1\n");
  const Source source = Source::open(Source::config_for(path.string()), ".");
  write_file(path, "x\n1\n");
  EXPECT_EQ(source.read().rows(), 1);
  std::filesystem::last_write_time(path,
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(source.read().rows(), 1);
}

TEST(Source, ShowsItsFirstRowsAsTheyWillBeRead) {
  const TestFolder folder;
  std::string text = "name,size,code\n";
  for (int i = 0; i < 40'000; ++i)
    text += "n" + std::to_string(i % 5) + "," + std::to_string(i * 0.5) + "," + std::to_string(i) + "\n";
  folder.write("long.csv", text);
  folder.write("short.csv", text.substr(0, text.find("n4")));
  for (const char* name : {"long.csv", "short.csv"}) {
    SourceConfig config = Source::config_for(name);
    config.text_columns = {"code"};
    const Source source = Source::open(config, folder.path());
    const Table start = source.first_rows().value();
    const Table whole = source.read();
    EXPECT_LE(start.rows(), 40'000 / 2) << name;
    EXPECT_TRUE(start.columns->Equals(*whole.columns->Slice(0, start.rows()))) << name;
  }
}

TEST(Source, HasNoFirstRowsWhereOnlyReadingAllTells) {
  const TestFolder folder;
  write_table(sample("friedman"), folder.path() / "a.parquet");
  EXPECT_FALSE(Source::open(Source::config_for("a.parquet"), folder.path()).first_rows());
  EXPECT_EQ(Source::open(Source::config_for("sample:friedman"), ".").first_rows()->rows(), 1000);
}

TEST(Sample, BostonHousingIsLinearWithNoiseOfStandardDeviationTen) {
  const Table table = sample("boston_housing");
  EXPECT_EQ(table.rows(), 50'000);
  EXPECT_EQ(table.column_names().size(), 14U);
  EXPECT_EQ(table.column_names().back(), "MEDV");
  std::vector<double> rest = column_of(table, "MEDV");
  int informative = 0;
  // Features are independent and standard normal, so each coefficient is a covariance.
  for (const std::string& name : table.column_names()) {
    if (name == "MEDV") continue;
    const std::vector<double> x = column_of(table, name);
    EXPECT_NEAR(mean(x), 0, 0.02) << name;
    EXPECT_NEAR(covariance(x, x), 1, 0.03) << name;
  }
  for (int pass = 0; pass < 8; ++pass) {  // backfitting converges quickly on nearly independent columns
    for (const std::string& name : table.column_names()) {
      if (name == "MEDV") continue;
      const std::vector<double> x = column_of(table, name);
      const double coefficient = covariance(x, rest) / covariance(x, x);
      if (pass == 0) informative += std::abs(coefficient) > 3 ? 1 : 0;
      for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= coefficient * x[i];
    }
  }
  EXPECT_NEAR(std::sqrt(covariance(rest, rest)), 10, 0.15);
  EXPECT_GE(informative, 8);
  EXPECT_LE(informative, 10);
}

TEST(Sample, FriedmanFollowsItsFormulaWithNoiseOfStandardDeviationOne) {
  const Table table = sample("friedman");
  EXPECT_EQ(table.rows(), 20'000);
  std::vector<std::vector<double>> x;
  for (int c = 0; c < 10; ++c) x.push_back(column_of(table, "x" + std::to_string(c)));
  std::vector<double> rest = column_of(table, "y");
  for (std::size_t i = 0; i < rest.size(); ++i) {
    rest[i] -= 10 * std::sin(M_PI * x[0][i] * x[1][i]) + 20 * std::pow(x[2][i] - 0.5, 2) + 10 * x[3][i] +
               5 * x[4][i];
  }
  EXPECT_NEAR(mean(rest), 0, 0.03);
  EXPECT_NEAR(std::sqrt(covariance(rest, rest)), 1, 0.02);
}

TEST(Sample, BlobsCanBeToldApartButNotPerfectly) {
  const Table table = sample("blobs");
  EXPECT_EQ(table.rows(), 20'000);
  const std::vector<double> labels = column_of(table, "label");
  std::vector<std::vector<double>> x;
  std::vector<std::vector<double>> centers(10, std::vector<double>(20));
  std::vector<double> counts(10);
  for (int c = 0; c < 20; ++c) x.push_back(column_of(table, "x" + std::to_string(c)));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    ++counts.at(label);
    for (std::size_t c = 0; c < 20; ++c) centers[label][c] += x[c][i];
  }
  for (std::size_t k = 0; k < 10; ++k) {
    EXPECT_GT(counts[k], 1500);
    for (double& coordinate : centers[k]) coordinate /= counts[k];
  }
  int right = 0;  // the nearest center is the best possible guess for round clouds of one size
  for (std::size_t i = 0; i < labels.size(); ++i) {
    double best = 1e300;
    std::size_t nearest = 0;
    for (std::size_t k = 0; k < 10; ++k) {
      double distance = 0;
      for (std::size_t c = 0; c < 20; ++c) distance += std::pow(x[c][i] - centers[k][c], 2);
      if (distance < best) {
        best = distance;
        nearest = k;
      }
    }
    right += nearest == static_cast<std::size_t>(labels[i]) ? 1 : 0;
  }
  const double accuracy = right / 20'000.0;
  EXPECT_GT(accuracy, 0.96);
  EXPECT_LT(accuracy, 0.999);
}

TEST(Sample, DependsOnItsSeedAndGrowsWithoutChangingItsFirstRows) {
  SourceConfig config = Source::config_for("sample:friedman");
  config.sample_rows = 100;
  const Table small = Source::open(config, ".").read();
  const Table large = sample("friedman");
  EXPECT_TRUE(small.columns->Equals(*large.columns->Slice(0, 100)));
  config.sample_seed = 1;
  EXPECT_FALSE(Source::open(config, ".").read().columns->Equals(*small.columns));
}

}  // namespace
}  // namespace stoker
