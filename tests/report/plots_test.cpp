#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/workers.h"
#include "report/plot/epoch_lines.h"
#include "report/plot/gnuplot.h"
#include "report/plot/line_colors.h"
#include "report/plot/pictures.h"
#include "report/run/report.h"
#include "report/run_folder.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RunFolder;

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Width and height stand in a PNG's first chunk, most significant byte first.
std::pair<unsigned, unsigned> png_size(const fs::path& file) {
  const std::string bytes = read_file(file, 64U << 20);
  if (bytes.size() < 24 || !bytes.starts_with("\x89PNG\r\n\x1a\n")) return {0, 0};
  const auto word = [&](std::size_t at) {
    unsigned value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  return {word(16), word(20)};
}

class Plots : public ::testing::Test {
 protected:
  void SetUp() override {
    if (find_gnuplot().empty()) GTEST_SKIP() << "gnuplot is not installed";
  }

  std::vector<std::string> draw() {
    std::vector<std::string> said;
    draw_plots(run_.paths(), [&](Severity, const std::string& message) { said.push_back(message); });
    return said;
  }

  void expect_pictures(const std::vector<std::string>& names) {
    EXPECT_EQ(files_in(run_.paths().plots()), names);
    for (const std::string& name : names)
      EXPECT_EQ(png_size(run_.paths().plots() / name), std::pair(1200U, 800U)) << name;
  }

  RunFolder run_;
};

TEST_F(Plots, OfARegressionAreLossPredictionsAndResiduals) {
  run_.write_metrics({"train"}, true);
  run_.write_evaluation("evaluate", testing::regression_of("MEDV"));
  EXPECT_THAT(draw(), IsEmpty());
  expect_pictures({"loss.png", "predicted_vs_actual.png", "residuals.png", "training.png"});
}

TEST_F(Plots, OfAClassificationAreLossAndConfusionMatrix) {
  run_.write_metrics({"train"}, false, 0.8);
  run_.write_evaluation("evaluate",
                        testing::classification_of("species", {"setosa", "versicolor", "virginica"}));
  EXPECT_THAT(draw(), IsEmpty());
  expect_pictures({"confusion.png", "loss.png", "training.png"});
}

TEST_F(Plots, OfSeveralCardsAreNamedAfterThem) {
  run_.write_metrics({"small", "large"}, true);
  run_.write_evaluation("test_small", testing::regression_of("MEDV"));
  run_.write_evaluation("test_large", testing::classification_of("kind", {"a", "b"}));
  EXPECT_THAT(draw(), IsEmpty());
  expect_pictures({"confusion-test_large.png", "loss-large.png", "loss-small.png",
                   "predicted_vs_actual-test_small.png", "residuals-test_small.png", "training-large.png",
                   "training-small.png"});
}

TEST_F(Plots, AreDrawnWhereEverythingIsAlikeOrMissing) {
  run_.write_metrics({"train"}, false, 0);  // a loss that does not move
  Evaluation evaluation = testing::regression_of("MEDV");
  evaluation.charts = {PredictedAgainstActual{{5, 5, std::nan("")}, {5, 5, 1}}};
  run_.write_evaluation("evaluate", evaluation);
  EXPECT_THAT(draw(), IsEmpty());
  expect_pictures({"loss.png", "predicted_vs_actual.png", "residuals.png", "training.png"});
}

TEST_F(Plots, OfManyClassesAreDrawnToo) {
  std::vector<std::string> classes;
  for (int i = 0; i < 200; ++i) classes.push_back(fmt::format("class {}", i));
  run_.write_evaluation("evaluate", testing::classification_of("kind", classes));
  EXPECT_THAT(draw(), IsEmpty());
  expect_pictures({"confusion.png"});
}

TEST_F(Plots, DoNotRunWhatHostileNamesSay) {
  const fs::path trap = run_.paths().folder / "trap";
  const std::vector<std::string> names{fmt::format("'; system \"touch {}\" #", trap.string()),
                                       fmt::format("`touch {}`", trap.string()),
                                       fmt::format("\nsystem('touch {}')\n", trap.string()),
                                       "@macro \\",
                                       "%s %d \xff\xfe",
                                       "\"",
                                       "x'"};
  run_.record().name = names[0];
  run_.save();
  run_.write_metrics({"train"}, true);
  int card = 0;
  for (const std::string& name : names) {
    // JSON holds UTF-8 alone; what is not never gets this far.
    if (name.find('\xff') != std::string::npos) continue;
    run_.write_evaluation(fmt::format("e{}", card++), testing::regression_of(name));
    run_.write_evaluation(fmt::format("e{}", card++),
                          testing::classification_of(name, {name, names[0], "b"}));
  }
  EXPECT_THAT(draw(), IsEmpty());
  EXPECT_FALSE(fs::exists(trap));
  EXPECT_EQ(files_in(run_.paths().plots()).size(), 20U);
}

TEST_F(Plots, OfARunWithoutDataAreNone) {
  EXPECT_THAT(draw(), IsEmpty());
  EXPECT_FALSE(fs::exists(run_.paths().plots()));
}

TEST_F(Plots, ThatFailSayWhatGnuplotSaid) {
  try {
    stoker::draw(find_gnuplot(), {"plot 'absent.txt'\n", {}}, run_.paths().plots() / "x.png");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::run_failed);
    EXPECT_THAT(error.what(), HasSubstr("absent.txt"));
  }
  EXPECT_FALSE(fs::exists(run_.paths().plots() / "x.png"));
}

TEST_F(Plots, ThatCannotBeWrittenCostOneWarningForAllOfThem) {
  run_.write_metrics({"train"}, true);
  run_.write_evaluation("evaluate", testing::regression_of("MEDV"));
  write_file(run_.paths().plots(), "a file where the folder should be");
  EXPECT_THAT(draw(), ElementsAre(HasSubstr("plots")));
}

// Pictures that leave behind what they can: axes, a palette, several panels, an arrow.
std::vector<GnuplotPicture> unlike_pictures() {
  return {{"set logscale y\nset xrange [1:9]\nset arrow 1 from 2, graph 0 to 2, graph 1\nplot 'a.txt' with "
           "lines\n",
           {{"a.txt", "1 1\n5 1000\n9 3\n"}}},
          {"set multiplot layout 2, 1 title 'two'\nunset border\nset lmargin 20\nplot x\nplot sin(x)\n"
           "unset multiplot\n",
           {}},
          {"set palette gray\nset cbrange [0:9]\nset style fill solid\nplot 'a.txt' using 1:2:3 with image\n",
           {{"a.txt", "0 0 1\n0 1 5\n1 0 7\n1 1 9\n"}}},
          {"plot x title 'plain'\n", {}}};
}

// More than there are cores, so that several share a process.
TEST_F(Plots, AreTheSameWhicheverWereDrawnBefore) {
  const std::vector<GnuplotPicture> pictures = unlike_pictures();
  const fs::path folder = run_.paths().plots();
  for (std::size_t i = 0; i < pictures.size(); ++i)
    stoker::draw(find_gnuplot(), pictures[i], folder / fmt::format("alone-{}.png", i));
  std::vector<std::string> said;
  Drawer drawer(find_gnuplot(), folder, [&](Severity, const std::string& text) { said.push_back(text); });
  const std::size_t count = 3 * static_cast<std::size_t>(cores_to_share()) + 2;
  for (std::size_t i = 0; i < count; ++i)
    drawer.draw(pictures[i % pictures.size()], fmt::format("{}.png", i));
  drawer.finish();
  EXPECT_THAT(said, IsEmpty());
  const auto content = [&](const std::string& name) { return read_file(folder / name, 1U << 24); };
  for (std::size_t i = 0; i < count; ++i)
    EXPECT_TRUE(content(fmt::format("{}.png", i)) ==
                content(fmt::format("alone-{}.png", i % pictures.size())))
        << i;
}

TEST_F(Plots, ThatFailCostNoOthers) {
  std::vector<std::string> said;
  Drawer drawer(find_gnuplot(), run_.paths().plots(),
                [&](Severity, const std::string& text) { said.push_back(text); });
  const int count = 3 * cores_to_share();
  drawer.draw({"plot 'absent.txt'\n", {}}, "bad.png");
  for (int i = 0; i < count; ++i) drawer.draw(unlike_pictures().back(), fmt::format("{}.png", i));
  drawer.finish();
  EXPECT_THAT(said, ElementsAre(::testing::AllOf(HasSubstr("bad.png"), HasSubstr("absent.txt"))));
  EXPECT_EQ(files_in(run_.paths().plots()).size(), static_cast<std::size_t>(count));
}

TEST_F(Plots, WithoutAFolderForTemporaryFilesCostAWarning) {
  run_.write_metrics({"train"}, true);
  run_.write_evaluation("evaluate", testing::regression_of("MEDV"));
  const char* const set = std::getenv("TMPDIR");
  const std::string earlier = set == nullptr ? "" : set;
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  std::vector<std::string> said;
  EXPECT_NO_THROW(said = draw());
  set == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", earlier.c_str(), 1);
  EXPECT_THAT(said,
              ElementsAre(::testing::AllOf(HasSubstr("a picture is missing"), HasSubstr("set TMPDIR"))));
}

TEST(PlotsWithoutGnuplot, CostOneNote) {
  RunFolder run;
  run.write_metrics({"train"}, true);
  const std::string search = std::getenv("PATH");
  ::setenv("PATH", run.paths().folder.c_str(), 1);
  std::vector<std::pair<Severity, std::string>> said;
  draw_plots(run.paths(),
             [&](Severity severity, const std::string& message) { said.emplace_back(severity, message); });
  ::setenv("PATH", search.c_str(), 1);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].first, Severity::info);
  EXPECT_THAT(said[0].second, HasSubstr("gnuplot-nox"));
  EXPECT_FALSE(fs::exists(run.paths().plots()));
}

// Whoever looks at both takes one for the other otherwise.
TEST(LossPicture, HasTheColoursOfTheReport) {
  RunFolder run;
  run.write_metrics({"train"}, true);
  write_report(run.paths());
  const std::string page = run.report();
  const std::string commands = loss_picture(read_contents(run.paths()).curves.at(0), "run").commands;
  for (const std::string name : {"training", "validation"}) {
    const std::size_t at = page.find("--" + name + ": #");
    ASSERT_NE(at, std::string::npos);
    const std::string colour = page.substr(at + name.size() + 4, 7);
    EXPECT_THAT(commands, HasSubstr(fmt::format("linecolor rgb '{}' title '{}'", colour, name)));
  }
}

EpochValues accuracies() {
  return {"train",
          {1, 2, 3},
          {"train_accuracy", "validation_accuracy"},
          {{0.5, 0.75, 0.9}, {0.4, std::nan(""), 0.8}}};
}

const std::string& content_of(const GnuplotPicture& picture, const std::string& name) {
  for (const auto& [each, content] : picture.files)
    if (each == name) return content;
  throw std::runtime_error("the picture has no file " + name);
}

TEST(AccuracyPicture, PlotsTrainingAndValidationByEpoch) {
  const auto lines = accuracy_lines(accuracies());
  ASSERT_TRUE(lines);
  const GnuplotPicture picture = accuracy_picture(*lines, 2, "run");
  EXPECT_EQ(content_of(picture, "accuracy.txt"), "1 0.5 0.4\n2 0.75 NaN\n3 0.9 0.8\n");
  EXPECT_THAT(picture.commands, HasSubstr(fmt::format("using 1:2 with linespoints pointtype 7 pointsize 0.8 "
                                                      "linewidth 2 linecolor rgb '{}'",
                                                      training_color)));
  EXPECT_FALSE(accuracy_lines({"train", {1, 2}, {"train_bce"}, {{0.5, 0.25}}}));
}

TEST_F(Plots, OfATrainingForClassesShowItsAccuracy) {
  run_.write_metrics({"train"}, true);
  make_folder(run_.paths().folder / "values");
  write_file(run_.paths().folder / "values" / "train.csv",
             "epoch,train_accuracy,validation_accuracy\n1,0.5,0.4\n2,0.75,0.6\n");
  EXPECT_THAT(draw(), IsEmpty());
  expect_pictures({"accuracy.png", "loss.png", "training.png"});
}

// A day for each row, of which every third has a gap behind it.
PredictedOverTime over_days(std::size_t rows) {
  PredictedOverTime chart{"north", "day", true, {}, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    chart.time.push_back(1.6e9 + 86'400.0 * static_cast<double>(i + i / 3));
    chart.actual.push_back(std::sin(static_cast<double>(i)));
    chart.predicted.push_back(std::sin(static_cast<double>(i)) + 0.1);
  }
  return chart;
}

TEST_F(Plots, OfASeriesShowPredictedAndActualOverTime) {
  Evaluation evaluation = testing::regression_of("degrees");
  evaluation.charts = {over_days(300)};
  run_.write_evaluation("evaluate", evaluation);
  EXPECT_THAT(draw(), IsEmpty());
  expect_pictures({"predicted_over_time.png"});
  const GnuplotPicture picture = over_time_picture(over_days(2), "degrees", "run");
  EXPECT_EQ(content_of(picture, "rows.txt"), "1600000000 0 0.1\n1600086400 0.841470985 0.941470985\n");
}

TEST(GnuplotText, CannotLeaveItsQuotes) {
  EXPECT_EQ(gnuplot_text("MEDV"), "'MEDV'");
  EXPECT_EQ(gnuplot_text("it's"), "'it''s'");
  EXPECT_EQ(gnuplot_text("a\nb\tc\x7f"), "'a b c '");
  EXPECT_EQ(gnuplot_text("caf\xc3\xa9 \xff"), "'caf\xc3\xa9 \uFFFD'");
  EXPECT_EQ(gnuplot_text(std::string(1'000, '\'')), "'" + std::string(120, '\'') + "…'");
}

}  // namespace
}  // namespace stoker
