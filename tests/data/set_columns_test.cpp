#include "data/prepare/set_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/prepare/preparation.h"
#include "data/sample/samples.h"
#include "data/table/array_columns.h"
#include "data/table/filter.h"

namespace stoker {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Three members of two values; the second of the first row and the third of the second are absent.
constexpr const char* sets =
    "r_0_0,r_0_1,r_1_0,r_1_1,r_2_0,r_2_1,on_0,on_1,on_2,p_0,p_1\n"
    "1,10,900,900,3,30,1,0,1,5,50\n"
    "2,20,4,40,,,1,1,0,7,90\n"
    "3,30,5,50,6,,1,1,1,9,70\n";

PreparationConfig config_of_sets() {
  PreparationConfig config;
  config.target_column = "p";
  config.mask_column = "on";
  return config;
}

InputForm form_with_room(std::int64_t members) {
  InputForm form = Scaling::none;
  form.members_of_set = members;
  form.one_target_scale = true;
  return form;
}

std::vector<float> values_in(const Dataset& dataset, const char* name) {
  const auto values = dataset.find(name)->array.as<float>();
  return {values.begin(), values.end()};
}

Dataset laid(const std::string& csv, const PreparationConfig& config, std::int64_t room) {
  const Table table = table_of(csv);
  return Preparation::fit(table, config, form_with_room(room), no_notes()).apply(table, DType::float32, true);
}

TEST(Sets, LieMemberByMemberWithZerosWhereOneIsAbsent) {
  const Dataset dataset = laid(sets, config_of_sets(), 4);
  EXPECT_THAT(dataset.find("members")->array.shape(), ElementsAre(3, 4, 2));
  EXPECT_THAT(values_in(dataset, "present"), ElementsAre(1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0));
  // Of the last row one value is missing, and becomes the median of those at its place in members that are
  // present.
  EXPECT_THAT(values_in(dataset, "members"),
              ElementsAre(1, 10, 0, 0, 3, 30, 0, 0, 2, 20, 4, 40, 0, 0, 0, 0, 3, 30, 5, 50, 6, 30, 0, 0));
}

TEST(Sets, AreScaledByMembersThatArePresentOneQuantityAtATime) {
  PreparationConfig config = config_of_sets();
  config.scaling = Scaling::minmax;
  const Dataset dataset = laid(sets, config, 3);
  const std::vector<float> members = values_in(dataset, "members");
  // From 1 to 6, whatever stands in a member that is absent.
  EXPECT_FLOAT_EQ(members[0], 0);
  EXPECT_FLOAT_EQ(members[4], 0.4F);
  EXPECT_FLOAT_EQ(members[16], 1);
  EXPECT_FLOAT_EQ(members[1], 0);
  EXPECT_FLOAT_EQ(members[15], 1);  // 50 of 10 to 50
}

TEST(Sets, WithoutAMaskMissMembersWhoseValuesAreAllMissing) {
  PreparationConfig config = config_of_sets();
  config.mask_column = "";
  config.feature_columns = {"r"};
  const Dataset dataset = laid(sets, config, 3);
  EXPECT_THAT(values_in(dataset, "present"), ElementsAre(1, 1, 1, 1, 1, 0, 1, 1, 1));
}

TEST(Sets, OfMoreMembersThanThereIsRoomForKeepTheFirstThatArePresent) {
  HeardNotes heard;
  const Table table = table_of(sets);
  const Preparation preparation =
      Preparation::fit(table, config_of_sets(), form_with_room(2), heard.listener());
  const Dataset dataset = preparation.apply(table, DType::float32, false);
  EXPECT_THAT(values_in(dataset, "members"), ElementsAre(1, 10, 3, 30, 2, 20, 4, 40, 3, 30, 5, 50));
  EXPECT_THAT(values_in(dataset, "present"), Each(1));
  EXPECT_THAT(heard.warnings, Contains(HasSubstr("1 of 3 rows have more than 2 members of 'r'")));
}

TEST(Sets, ComeBackFromAModelFolderAsTheyWere) {
  const Table table = table_of(sets);
  const Preparation preparation = Preparation::fit(table, config_of_sets(), form_with_room(4), no_notes());
  const Preparation read = Preparation::from_json(nlohmann::json::parse(preparation.to_json().dump()));
  EXPECT_EQ(read.to_json(), preparation.to_json());
  EXPECT_EQ(read.steps(), 2);
  EXPECT_EQ(values_in(read.apply(table, DType::float32, true), "members"),
            values_in(preparation.apply(table, DType::float32, true), "members"));
  nlohmann::json broken = preparation.to_json();
  broken["set"]["count"] = 4;
  EXPECT_THAT(refusal([&] { Preparation::from_json(broken); }), HasSubstr("does not fit the columns"));
  broken["set"]["count"] = 1e18;
  EXPECT_THAT(refusal([&] { Preparation::from_json(broken); }), HasSubstr("count"));
}

TEST(Sets, AnswerWithArraysWhoseNumbersShareAScale) {
  const Table table = table_of(sets);
  InputForm form = form_with_room(4);
  form.scaling = Scaling::standard;
  const Preparation preparation = Preparation::fit(table, config_of_sets(), form, no_notes());
  EXPECT_DOUBLE_EQ(preparation.target_shift(0), 7);
  EXPECT_DOUBLE_EQ(preparation.target_shift(1), 70);
  EXPECT_DOUBLE_EQ(preparation.target_scale(0), preparation.target_scale(1));
  EXPECT_TRUE(preparation.answers_array());
}

TEST(Sets, ThatCannotBeReadAreRefusedWithTheReason) {
  const auto said = [](const std::string& csv, const PreparationConfig& config) {
    return refusal([&] { laid(csv, config, 4); });
  };
  PreparationConfig config = config_of_sets();
  EXPECT_THAT(said("a,p_0,p_1\n1,2,3\n2,3,4\n", config), HasSubstr("the table has none"));
  EXPECT_THAT(said("r_0_0,r_1_1,p_0,p_1\n1,2,3,4\n2,3,4,5\n", config), HasSubstr("no column 'r_0_1'"));
  config.mask_column = "of";
  EXPECT_THAT(said(sets, config), HasSubstr("'of', which has 0 columns"));
  config = config_of_sets();
  for (const char* answer : {"r_0_1", "on"}) {
    config.target_column = answer;
    EXPECT_THAT(said(sets, config), HasSubstr("is part of the set that is predicted from")) << answer;
  }
  config = config_of_sets();
  for (const char* weights : {"r_0_1", "on_1", "p_0"}) {
    config.weight_column = weights;
    EXPECT_THAT(said(sets, config), HasSubstr(fmt::format("weight_column '{}' is part of", weights)));
  }
  config = config_of_sets();
  EXPECT_THAT(said("r_0_0,r_9223372036854775807_0,on_0,p_0,p_1\n1,1,1,3,4\n2,2,1,4,5\n", config), "");
  config.feature_columns = {"s"};
  EXPECT_THAT(said(sets, config), HasSubstr("'s' is no array"));
  config = config_of_sets();
  EXPECT_THAT(said("r_0_0,on_0,p_0,p_1\n1,1,3,4\n2,0,4,5\n", config),
              HasSubstr("row 2 has no member of 'r'"));
  EXPECT_THAT(said("r_0_0,on_0,p_0,p_1\n1,1,3,4\nx,1,4,5\n", config), HasSubstr("made of numbers"));
  EXPECT_THAT(said("r_0_0,on_0,p_0,p_1\n1,1,3,4\ninf,1,4,5\n", config), HasSubstr("infinite in row 2"));
  config.missing_values = Missing::refuse;
  EXPECT_THAT(said(sets, config), HasSubstr("missing_values: refuse"));
  config = config_of_sets();
  EXPECT_THAT(refusal([&] { Preparation::fit(table_of(sets), config, Scaling::none, no_notes()); }),
              HasSubstr("mask_column is for models that read sets"));
}

TEST(Sets, WithoutAnyMemberAreLeftOutWithAWarning) {
  const Table table = table_of("r_0_0,on_0,p_0,p_1\n1,1,3,4\n2,0,4,5\n3,1,5,6\n,0,6,7\n");
  const SetColumns set = find_set(table, config_of_sets(), form_with_room(4));
  EXPECT_THAT(rows_without_members(table, set), ElementsAre(1, 3));
  std::vector<std::string> said;
  const Notes hear = [&](Severity, const std::string& message) { said.push_back(message); };
  EXPECT_EQ(rows_with_members(table, set, Missing::impute, "train on", hear).rows(), 2);
  EXPECT_THAT(
      said, ElementsAre(HasSubstr("2 of 4 rows have no member of 'r' that is present, the first is row 2")));
  EXPECT_THAT(refusal([&] { rows_with_members(table, set, Missing::refuse, "train on", hear); }),
              HasSubstr("row 2 has no member"));
  EXPECT_THAT(refusal([&] {
                rows_with_members(take_rows(table, {1, 3}), set, Missing::impute, "train on", hear);
              }),
              HasSubstr("nothing to train on"));
}

TEST(Sets, ThatDoWithoutMembersSaySo) {
  const Table table = table_of(sets);
  const SetColumns narrow{"r", "on", 2, 2, 1};
  EXPECT_THAT(warnings_of_sets(table, narrow), ElementsAre(HasSubstr("had 2; the last 1 are not read"),
                                                           HasSubstr("2 of 3 rows have more than 1")));
  EXPECT_THAT(warnings_of_sets(table, find_set(table, config_of_sets(), form_with_room(4))), IsEmpty());
}

TEST(Arrays, AreFoundByTheNumbersOfTheirColumns) {
  const Table table = table_of("a_0,a_1,a_3,b_0_0,b_0_1,year_2024_1,c_00,c_0_\n1,2,3,4,5,6,7,8\n");
  EXPECT_THAT(refusal([&] { array_parts(table, "a"); }), HasSubstr("'a_3', but there is no column 'a_2'"));
  EXPECT_THAT(array_parts(table, "b_0"), ElementsAre("b_0_0", "b_0_1"));
  EXPECT_THAT(array_parts(table, "c"), IsEmpty());
  EXPECT_THAT(names_of_arrays_of_rows(table), ElementsAre("b"));
}

TEST(Conditions, KeepTheRowsForWhichAllHold) {
  const Table table = table_of("snr_db,gdop,name\n12,2,a\n9,2,b\n12,,c\n15,6,d\n10,5,e\n");
  const Table kept = rows_with(table, {condition_from("snr_db >= 10"), condition_from(" gdop<=5 ")});
  EXPECT_EQ(kept.rows(), 2);
  EXPECT_EQ(kept.row_number(1), 5);
  EXPECT_EQ(rows_with(table, {condition_from("snr_db != 12")}).rows(), 3);
  EXPECT_EQ(rows_with(table, {condition_from("snr_db = 12")}).rows(), 2);
  EXPECT_EQ(rows_with(table, {condition_from("snr_db > 10"), condition_from("snr_db < 15")}).rows(), 2);
  for (const char* wrong : {"", "snr_db", "snr_db >=", ">= 3", "snr_db >= ten", "snr_db >= nan",
                            "snr_db = inf", "is null", "snr_db is", " is not null"})
    EXPECT_THAT(refusal([&] { condition_from(wrong); }), HasSubstr("is no condition")) << wrong;
  EXPECT_EQ(rows_with(table, {condition_from("gdop is not null")}).rows(), 4);
  EXPECT_EQ(rows_with(table, {condition_from(" gdop IS NULL ")}).row_number(0), 3);
  EXPECT_EQ(rows_with(table, {condition_from("name is not null"), condition_from("gdop > 2")}).rows(), 2);
  EXPECT_EQ(rows_with(table, {condition_from("name is null")}).rows(), 0);
  EXPECT_EQ(rows_with(table_of("a,t\n1,x\nnan,\n,y\n"), {condition_from("a is not null")}).rows(), 1);
  EXPECT_EQ(rows_with(table_of("a,t\n1,x\nnan,\n,y\n"), {condition_from("t is null")}).rows(), 1);
  EXPECT_THAT(refusal([&] { rows_with(table, {condition_from("name = 1")}); }),
              HasSubstr("holds no numbers"));
  EXPECT_THAT(refusal([&] { rows_with(table, {condition_from("gdo < 1")}); }), HasSubstr("gdop"));
}

TEST(Receptions, HaveThreeStationsOrMoreAndArriveAsFarAsTheyCome) {
  const Table table = make_sample(SampleName::uhf_mixed, 500, 3);
  PreparationConfig config;
  config.target_column = "position";
  config.mask_column = "present";
  const Preparation preparation = Preparation::fit(table, config, form_with_room(10), no_notes());
  const Dataset dataset = preparation.apply(table, DType::float32, false);
  const std::vector<float> present = values_in(dataset, "present");
  const std::vector<float> members = values_in(dataset, "members");
  const std::vector<double> places = preparation.real_targets(table);
  for (std::size_t row = 0; row < 500; ++row) {
    double count = 0;
    double error = 0;
    double mean = 0;
    for (std::size_t i = 0; i < 10; ++i) count += present[row * 10 + i];
    ASSERT_GE(count, 3);
    const auto arrival = [&](std::size_t i) {
      const float* values = &members[(row * 10 + i) * 6];
      return std::hypot(values[0] - places[2 * row], values[1] - places[2 * row + 1]) / 0.299792458;
    };
    for (std::size_t i = 0; i < 10; ++i)
      if (present[row * 10 + i] == 1) mean += arrival(i) / count;
    for (std::size_t i = 0; i < 10; ++i)
      if (present[row * 10 + i] == 1)
        error += std::abs(arrival(i) - mean - members[(row * 10 + i) * 6 + 5]) / count;
    ASSERT_LT(error, 15);  // µs
  }
}

}  // namespace
}  // namespace stoker
