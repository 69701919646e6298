#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <arrow/util/decimal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/prepare/preparation.h"
#include "data/split/split.h"
#include "data/table/column_values.h"
#include "data/table/value_rows.h"

// Whole numbers beyond 2^53, of which a double knows every second one at most.
namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int rows_of_each = 4;
const std::vector<std::string> identifiers{"9007199254740992", "9007199254740993", "9007199254740994",
                                           "9007199254740995"};

std::shared_ptr<arrow::Array> array_of(const std::shared_ptr<arrow::DataType>& type) {
  arrow::Int64Builder builder;
  for (int repeat = 0; repeat < rows_of_each; ++repeat)
    for (const std::string& each : identifiers) EXPECT_TRUE(builder.Append(std::stoll(each)).ok());
  return arrow::compute::Cast(*builder.Finish().ValueOrDie(), type).ValueOrDie();
}

// The identifiers over and over, beside a feature.
Table with_identifiers(const std::shared_ptr<arrow::Array>& ids) {
  arrow::DoubleBuilder numbers;
  for (std::int64_t row = 0; row < ids->length(); ++row) EXPECT_TRUE(numbers.Append(0.5 * row * row).ok());
  return {arrow::Table::Make(
      arrow::schema({arrow::field("x", arrow::float64()), arrow::field("id", ids->type())}),
      {numbers.Finish().ValueOrDie(), ids})};
}

std::shared_ptr<arrow::Array> as_dictionary() {
  arrow::UInt64Builder values;
  arrow::Int32Builder indices;
  for (const std::string& each : identifiers) EXPECT_TRUE(values.Append(std::stoull(each)).ok());
  for (int row = 0; row < rows_of_each * 4; ++row) EXPECT_TRUE(indices.Append(row % 4).ok());
  return arrow::DictionaryArray::FromArrays(indices.Finish().ValueOrDie(), values.Finish().ValueOrDie())
      .ValueOrDie();
}

std::vector<std::shared_ptr<arrow::Array>> of_every_type() {
  return {array_of(arrow::int64()),
          array_of(arrow::uint64()),
          array_of(arrow::decimal128(20, 0)),
          array_of(arrow::decimal128(30, 4)),
          array_of(arrow::decimal256(50, 2)),
          array_of(arrow::timestamp(arrow::TimeUnit::NANO)),
          array_of(arrow::duration(arrow::TimeUnit::NANO)),
          as_dictionary()};
}

TEST(Identifiers, StayApartAsGroupsAndStrata) {
  for (const auto& ids : of_every_type()) {
    SCOPED_TRACE(ids->type()->ToString());
    const std::vector<ValueRows> groups = rows_by_value(with_identifiers(ids), "id");
    ASSERT_EQ(groups.size(), identifiers.size());
    for (const ValueRows& group : groups) EXPECT_THAT(group.rows, SizeIs(rows_of_each));
  }
}

TEST(Identifiers, StayApartAsClasses) {
  for (const auto& ids : of_every_type()) {
    SCOPED_TRACE(ids->type()->ToString());
    PreparationConfig config;
    config.target_column = "id";
    config.task = TaskChoice::multiclass;
    const Table table = with_identifiers(ids);
    const Preparation preparation = Preparation::fit(table, config, Scaling::standard, no_notes());
    EXPECT_EQ(preparation.classes().size(), identifiers.size());
    const std::vector<std::int64_t> numbers = preparation.class_targets(table);
    for (std::size_t row = 0; row < numbers.size(); ++row)
      EXPECT_EQ(numbers[row], static_cast<std::int64_t>(row % identifiers.size()));
  }
}

TEST(Identifiers, ReadAsTheTextThatStandsInTheFile) {
  for (const auto& type : {arrow::int64(), arrow::uint64(), arrow::decimal128(30, 4)}) {
    const TextValues texts = read_texts(std::make_shared<arrow::ChunkedArray>(array_of(type)));
    EXPECT_EQ(texts.values[1], "9007199254740993");
    EXPECT_EQ(texts.values[3], "9007199254740995");
  }
}

TEST(Identifiers, AreNotGuessedToBeFewClassesBecauseDoublesMergeThem) {
  // 40 values of 60 rows, which are 5 as doubles.
  arrow::UInt64Builder builder;
  for (std::uint64_t row = 0; row < 60; ++row)
    ASSERT_TRUE(builder.Append((std::uint64_t{1} << 56U) + row % 40).ok());
  PreparationConfig config;
  config.target_column = "id";
  const Table table = with_identifiers(builder.Finish().ValueOrDie());
  EXPECT_EQ(Preparation::fit(table, config, Scaling::standard, no_notes()).task(), Task::regression);
}

TEST(Identifiers, OfTwentyDigitsInACsvStayApart) {
  std::string csv = "x,id,large\n";
  for (int row = 0; row < 16; ++row)
    csv += std::to_string(row * row) + ",1844674407370955161" + std::to_string(row % 4) + ",1.5e19\n";
  csv += "400,,2e19\n";
  const Table table = table_of(csv);
  const std::vector<ValueRows> groups = rows_by_value(table, "id");
  ASSERT_EQ(groups.size(), 5U);
  EXPECT_EQ(groups[3].value, "18446744073709551613");
  EXPECT_EQ(groups[4].value, "(missing)");
  EXPECT_EQ(preview(table).columns[2].type, "double");
}

TEST(Decimals, ReadAsTheTextOfTheNumberTheyAre) {
  arrow::Decimal128Builder builder(arrow::decimal128(30, 3));
  for (const char* text : {"1.500", "-2.000", "0.001", "123456789012345678.250"})
    ASSERT_TRUE(builder.Append(arrow::Decimal128::FromString(text).ValueOrDie()).ok());
  const auto column = std::make_shared<arrow::ChunkedArray>(builder.Finish().ValueOrDie());
  EXPECT_THAT(read_texts(column).values, ElementsAre("1.5", "-2", "0.001", "123456789012345678.25"));
}

}  // namespace
}  // namespace stoker
