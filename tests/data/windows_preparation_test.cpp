#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/prepare/preparation.h"
#include "data/split/split.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

InputForm reading_windows() {
  InputForm form = Scaling::standard;
  form.reads_windows = true;
  return form;
}

// A level that changes for good: what is scaled by its past looks different from what has seen it all.
std::string with_a_jump(int rows, int jump) {
  std::string csv = "x,kind\n";
  for (int i = 0; i < rows; ++i)
    csv += fmt::format("{},{}\n", (i < jump ? 0 : 1000) + i % 2, i < jump ? "early" : "late");
  return csv;
}

Table windows_over(const std::string& csv, Answer answer = Answer::ahead) {
  WindowsConfig config;
  config.length = 4;
  config.horizon = 2;
  config.target_column = "x";
  config.answer = answer;
  return frame_series(table_of(csv), config, FramedRows::to_learn, no_notes());
}

PreparationConfig predicting(const std::string& target) {
  PreparationConfig config;
  config.target_column = target;
  config.task = TaskChoice::regression;
  return config;
}

Table columns_of_path(std::int64_t horizon, std::int64_t length = 3) {
  WindowsConfig config;
  config.length = length;
  config.horizon = horizon;
  config.target_column = "x";
  config.answer = Answer::path;
  config.layout = WindowLayout::columns;
  return frame_series(table_of(with_a_jump(40, 20)), config, FramedRows::to_learn, no_notes());
}

// Any other column of such rows is an answer as well, and would be learnt from.
TEST(PreparationOfWindows, PredictsNothingButTheirAnswers) {
  for (const char* const other : {"x (1 ahead)", "x (0 back)", "kind (0 back)"})
    EXPECT_THAT(refusal([&] {
                  return Preparation::fit(columns_of_path(4), predicting(other), Scaling::none, no_notes());
                }),
                HasSubstr("the answers of these windows are those of 'x'"));
  const Preparation preparation =
      Preparation::fit(columns_of_path(4), predicting("x"), Scaling::none, no_notes());
  for (const std::string& name : preparation.column_names()) EXPECT_THAT(name, HasSubstr(" back)"));
}

TEST(PreparationOfWindows, RefusesAnswersOfOtherWindows) {
  const Preparation preparation =
      Preparation::fit(columns_of_path(2), predicting("x"), Scaling::none, no_notes());
  EXPECT_EQ(preparation.real_targets(columns_of_path(2)).size(), 2U * 36U);
  EXPECT_THAT(refusal([&] { return preparation.real_targets(columns_of_path(9)); }),
              HasSubstr("horizon 9 instead of 2"));
  EXPECT_THAT(refusal([&] { return preparation.real_targets(columns_of_path(2, 5)); }),
              HasSubstr("length 5 instead of 3"));
  EXPECT_THAT(refusal([&] { return preparation.real_targets(table_of("x\n1\n2\n3\n")); }),
              HasSubstr("put a windows card"));
}

TEST(PreparationOfWindows, RefusesWindowsThatWereFilledOrJoinedOtherwise) {
  Table table = columns_of_path(2);
  const auto framed_with = [&](bool carry_forward, const SlowerConfig& slower) {
    auto windows = std::make_shared<Windows>(*table.windows);
    windows->config.carry_forward = carry_forward;
    windows->config.slower = slower;
    Table framed = table;
    framed.windows = std::move(windows);
    return framed;
  };
  const SlowerConfig hours{{"h1"}, Stamp::open};
  const Preparation preparation =
      Preparation::fit(framed_with(true, hours), predicting("x"), Scaling::none, no_notes());
  const auto told = [&](bool carry_forward, const SlowerConfig& slower) {
    return refusal([&] { return preparation.real_targets(framed_with(carry_forward, slower)); });
  };
  EXPECT_EQ(told(true, hours), "");
  EXPECT_THAT(told(false, hours), HasSubstr("carry_forward false instead of true"));
  EXPECT_THAT(told(true, {{"h1"}, Stamp::close}), HasSubstr("slower_stamp close instead of open"));
  EXPECT_THAT(told(true, {{"h1", "h4"}, Stamp::open}), HasSubstr("slower_names h1, h4 instead of h1"));
  EXPECT_THAT(told(true, {}), HasSubstr("slower_names none instead of h1"));
}

TEST(PreparationOfWindows, LaysTheSeriesOnceAndKeepsWhereWindowsBegin) {
  const Table table = windows_over("x\n1\n2\n3\n4\n5\n6\n7\n8\n");
  PreparationConfig config = predicting("x");
  config.scaling = Scaling::none;
  const Preparation preparation = Preparation::fit(table, config, reading_windows(), no_notes());
  const Dataset data = preparation.apply(table, DType::float32, true);
  const DatasetArray& window = *data.find("window");
  EXPECT_EQ(window.length, 4);
  EXPECT_EQ(window.rows(), 3);
  EXPECT_THAT(window.row_shape(), ElementsAre(4, 1));
  // The answers' own moments are in no window.
  EXPECT_THAT(window.array.as<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(window.starts.as<std::int64_t>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(data.targets().as<float>(), ElementsAre(6, 7, 8));
  const ArraySpec wanted{"window", Role::features, DType::float32, {4, 1}, {}};
  EXPECT_THAT(preparation.inputs(DType::float32), ElementsAre(wanted));
}

TEST(PreparationOfWindows, LearnsFromThePastAlone) {
  const std::string csv = with_a_jump(200, 150);
  const Table table = windows_over(csv);
  SplitConfig split;
  split.train_ratio = 0.6;
  split.test_ratio = 0.4;
  const SplitRows rows = split_rows(table, split);
  const Preparation preparation =
      Preparation::fit(take_rows(table, rows.first), predicting("x"), reading_windows(), no_notes());
  // Of 0 and 1 in turn: the 1000s and the texts that come later are not known yet.
  EXPECT_NEAR(preparation.columns()[0].shift, 0.5, 0.01);
  EXPECT_NEAR(preparation.columns()[0].scale, 0.5, 0.01);
  EXPECT_THAT(preparation.columns()[1].categories, ElementsAre("early"));
  EXPECT_NEAR(preparation.target_shift(), 0.5, 0.01);
  const Preparation of_all = Preparation::fit(table, predicting("x"), reading_windows(), no_notes());
  EXPECT_GT(of_all.columns()[0].shift, 100) << "which the whole series would show";
}

TEST(PreparationOfWindows, DoesNotLearnFromTheMomentsOfAnswers) {
  std::string csv = with_a_jump(60, 60);
  csv += "5000,early\n5000,early\n";
  const Preparation preparation =
      Preparation::fit(windows_over(csv), predicting("x"), reading_windows(), no_notes());
  EXPECT_NEAR(preparation.columns()[0].shift, 0.5, 0.01);
}

TEST(PreparationOfWindows, KnowsTheStepsOfAPath) {
  const Table table = windows_over("x\n1\n2\n3\n4\n5\n6\n7\n8\n", Answer::path);
  const Preparation preparation = Preparation::fit(table, predicting("x"), reading_windows(), no_notes());
  EXPECT_EQ(preparation.steps(), 2);
  // 5, 6 / 6, 7 / 7, 8: one mean and one deviation, by hand.
  EXPECT_NEAR(preparation.target_shift(), 6.5, 1e-12);
  EXPECT_NEAR(preparation.target_scale(), std::sqrt(5.5 / 6), 1e-12);
  EXPECT_THAT(preparation.real_targets(table), ElementsAre(5, 6, 6, 7, 7, 8));
  const Dataset data = preparation.apply(table, DType::float64, true);
  EXPECT_THAT(data.targets().shape(), ElementsAre(3, 2));
}

TEST(PreparationOfWindows, ComesBackFromItsDescription) {
  const Table table = windows_over("x\n1\n2\n3\n4\n5\n6\n7\n8\n", Answer::path);
  const Preparation preparation = Preparation::fit(table, predicting("x"), reading_windows(), no_notes());
  const Preparation again = Preparation::from_json(preparation.to_json());
  EXPECT_EQ(again.to_json(), preparation.to_json());
  EXPECT_EQ(again.steps(), 2);
  ASSERT_NE(again.windows(), nullptr);
  EXPECT_EQ(again.windows()->length, 4);
  EXPECT_THAT(again.windows()->feature_columns, ElementsAre("x"));
  nlohmann::json damaged = preparation.to_json();
  damaged["windows"]["length"] = 0;
  EXPECT_THAT(refusal([&] { Preparation::from_json(damaged); }), HasSubstr("windows"));
  damaged["windows"] = 3;
  EXPECT_THAT(refusal([&] { Preparation::from_json(damaged); }), HasSubstr("windows"));
}

TEST(PreparationOfWindows, RefusesRowsOfTheOtherKind) {
  const std::string csv = "x\n1\n2\n3\n4\n5\n6\n7\n8\n";
  const Table table = windows_over(csv);
  EXPECT_THAT(refusal([&] { Preparation::fit(table, predicting("x"), Scaling::standard, no_notes()); }),
              HasSubstr("layout: columns"));
  EXPECT_THAT(
      refusal([&] { Preparation::fit(table_of(csv), predicting("x"), reading_windows(), no_notes()); }),
      HasSubstr("put a windows card"));
  const Preparation preparation = Preparation::fit(table, predicting("x"), reading_windows(), no_notes());
  EXPECT_THAT(refusal([&] { preparation.apply(table_of(csv), DType::float32, false); }),
              HasSubstr("windows of 4 rows of a series, but these are plain rows"));
  WindowsConfig longer = table.windows->config;
  longer.length = 5;
  const Table other = frame_series(table_of(csv), longer, FramedRows::to_learn, no_notes());
  EXPECT_THAT(refusal([&] { preparation.apply(other, DType::float32, false); }),
              HasSubstr("windows of 4 rows, but those of the table have 5"));
}

TEST(PreparationOfWindows, FillsWhatIsMissingInTheSeries) {
  const Table table = windows_over("x,y\n1,1\n2,\n3,3\n4,5\n5,\n6,9\n7,1\n8,1\n");
  PreparationConfig config = predicting("x");
  config.scaling = Scaling::none;
  config.missing_values = Missing::indicate;
  const Preparation preparation = Preparation::fit(table, config, reading_windows(), no_notes());
  EXPECT_THAT(preparation.feature_names(), ElementsAre("x", "y", "y=(missing)"));
  config.missing_values = Missing::refuse;
  EXPECT_THAT(refusal([&] { Preparation::fit(table, config, reading_windows(), no_notes()); }),
              HasSubstr("missing values in 'y' (2 of 6 rows)"));
}

TEST(PreparationOfWindows, LeavesTimeAndGroupOutOfColumns) {
  WindowsConfig windows;
  windows.length = 2;
  windows.horizon = 1;
  windows.target_column = "x";
  windows.time_column = "t";
  windows.group_column = "g";
  windows.layout = WindowLayout::columns;
  windows.answer = Answer::path;
  const Table table = frame_series(table_of("t,g,x\n1,a,1\n2,a,2\n3,a,3\n4,a,4\n5,a,5\n"), windows,
                                   FramedRows::to_learn, no_notes());
  const Preparation preparation = Preparation::fit(table, predicting("x"), Scaling::standard, no_notes());
  EXPECT_THAT(preparation.column_names(), ElementsAre("x (1 back)", "x (0 back)"));
}

PreparationConfig relative(RelativeTo to) {
  PreparationConfig config = predicting("x");
  config.relative_to = to;
  return config;
}

// A level that rises by 10 a moment, and by 0 or 2 beside it in turn.
std::string rising(int rows) {
  std::string csv = "x\n";
  for (int i = 0; i < rows; ++i) csv += fmt::format("{}\n", 10 * i + i % 2 * 2);
  return csv;
}

TEST(RelativeAnswers, AreWhatAnswersDifferByFromTheLastValueOfTheirWindow) {
  const Table table = windows_over("x\n1\n2\n4\n8\n16\n32\n64\n128\n");
  const Preparation preparation =
      Preparation::fit(table, relative(RelativeTo::last), reading_windows(), no_notes());
  EXPECT_TRUE(preparation.is_relative());
  const Dataset data = preparation.apply(table, DType::float64, true);
  // 32 after 8, 64 after 16, 128 after 32: by 24, 48 and 96, whose mean is 56.
  EXPECT_THAT(data.find(Role::base)->as<double>(), ElementsAre(8, 16, 32));
  EXPECT_NEAR(preparation.target_shift(), 56, 1e-12);
  EXPECT_NEAR(data.targets().as<double>()[0] * preparation.target_scale(), 24 - 56, 1e-9);
  EXPECT_THAT(preparation.real_targets(table), ElementsAre(32, 64, 128));
  EXPECT_EQ(Preparation::fit(table, predicting("x"), reading_windows(), no_notes())
                .apply(table, DType::float64, true)
                .find(Role::base),
            nullptr);
}

TEST(RelativeAnswers, OfAPathAreAllRelativeToTheSameValue) {
  const Table table = windows_over("x\n1\n2\n4\n8\n16\n32\n", Answer::path);
  PreparationConfig config = relative(RelativeTo::last);
  config.scale_target = false;
  const Preparation preparation = Preparation::fit(table, config, reading_windows(), no_notes());
  const Dataset data = preparation.apply(table, DType::float64, true);
  EXPECT_THAT(data.targets().as<double>(), ElementsAre(16 - 8, 32 - 8));
}

TEST(RelativeAnswers, TakeTheLastValueThatIsKnown) {
  const Table table = windows_over("x,y\n1,0\n2,0\n4,0\n,0\n16,0\n32,0\n");
  const Preparation preparation =
      Preparation::fit(table, relative(RelativeTo::last), reading_windows(), no_notes());
  const Dataset data = preparation.apply(table, DType::float64, false);
  EXPECT_THAT(data.find(Role::base)->as<double>(), ElementsAre(4));
  const Table unknown = windows_over("x,y\n,0\n,0\n,0\n,0\n16,0\n32,0\n");
  EXPECT_THAT(preparation.apply(unknown, DType::float64, false).find(Role::base)->as<double>(),
              ElementsAre(32))
      << "the mean of the answers in training";
}

TEST(RelativeAnswers, AreChosenWhereTheLastValueIsNearerThanTheMean) {
  std::vector<std::string> said;
  const Notes notes = [&](Severity, const std::string& note) { said.push_back(note); };
  const auto chooses = [&](const std::string& csv) {
    return Preparation::fit(windows_over(csv), relative(RelativeTo::automatic), reading_windows(), notes)
        .is_relative();
  };
  EXPECT_TRUE(chooses(rising(60)));
  EXPECT_THAT(said.back(), HasSubstr("relative to the last value"));
  std::string noise = "x\n";
  for (int i = 0; i < 60; ++i) noise += fmt::format("{}\n", i * 7919 % 101);
  EXPECT_FALSE(chooses(noise));
  EXPECT_THAT(said.back(), HasSubstr("learnt as it is"));
}

TEST(RelativeAnswers, RefuseWhatHasNoLastValue) {
  PreparationConfig wanted = relative(RelativeTo::last);
  wanted.task = TaskChoice::automatic;
  const auto refusal_of = [&](const Table& table) {
    return refusal([&] { Preparation::fit(table, wanted, reading_windows(), no_notes()); });
  };
  EXPECT_THAT(refusal([&] { Preparation::fit(table_of(rising(9)), wanted, Scaling::none, no_notes()); }),
              HasSubstr("relative_to is for windows of a series"));
  EXPECT_THAT(refusal_of(windows_over(with_a_jump(40, 20), Answer::direction)),
              HasSubstr("answer: direction"));
  WindowsConfig config;
  config.length = 3;
  config.horizon = 1;
  config.target_column = "x";
  config.feature_columns = {"y"};
  const Table without =
      frame_series(table_of("x,y\n1,2\n3,5\n5,4\n6,7\n7,1\n9,9\n"), config, FramedRows::to_learn, no_notes());
  EXPECT_THAT(refusal_of(without), HasSubstr("needs the past of 'x'"));
  PreparationConfig decides = relative(RelativeTo::automatic);
  EXPECT_FALSE(Preparation::fit(without, decides, reading_windows(), no_notes()).is_relative());
}

TEST(RelativeAnswers, ComeBackFromTheirDescription) {
  const Preparation preparation =
      Preparation::fit(windows_over(rising(20)), relative(RelativeTo::last), reading_windows(), no_notes());
  const nlohmann::json description = preparation.to_json();
  const Preparation again = Preparation::from_json(description);
  EXPECT_TRUE(again.is_relative());
  EXPECT_EQ(again.to_json(), description);
  const auto damaged = [&](const auto& damage) {
    nlohmann::json copy = description;
    damage(copy);
    return refusal([&] { Preparation::from_json(copy); });
  };
  EXPECT_THAT(damaged([](auto& copy) { copy["target"]["relative_to"] = "first"; }), HasSubstr("relative_to"));
  EXPECT_THAT(damaged([](auto& copy) { copy["target"].erase("unknown_base"); }), HasSubstr("unknown_base"));
  EXPECT_THAT(damaged([](auto& copy) { copy.erase("windows"); }), HasSubstr("relative_to"));
  EXPECT_THAT(damaged([](auto& copy) { copy["windows"]["answer"] = "direction"; }), HasSubstr("relative_to"));
}

}  // namespace
}  // namespace stoker
