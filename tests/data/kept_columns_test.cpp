#include "data/memory/kept_columns.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/memory/page_memory.h"
#include "data/prepare/preparation.h"
#include "data/table/value_rows.h"
#include "patience.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kept_rows = 3000;

Table some_table() {
  std::string csv = "x,colour,ok,share,many,y\n";
  const std::vector<std::string> colours{"red", "green", "", "blue"};
  for (int i = 0; i < kept_rows; ++i) {
    csv += std::to_string(i * 7919 % 1000) + "," + colours[static_cast<std::size_t>(i * i % 11 % 4)] + "," +
           (i % 3 == 0 ? "true" : "false") + "," + (i % 50 == 0 ? "" : std::to_string(i % 13) + ".5") + ",t" +
           std::to_string(i % 400) + "," + std::to_string(i % 17) + ".25\n";
  }
  return table_of(csv);
}

// A part of the table as it comes from memory, and as it comes from a file that is left where it is.
class KeptColumns : public ::testing::Test {
 protected:
  KeptColumns() {
    std::vector<std::int64_t> part;
    for (std::int64_t row = 0; row < kept_rows; ++row)
      if (row % 4 != 1) part.push_back(row);
    in_memory_ = take_rows(some_table(), part);
    in_memory_.group_column = "many";
    in_memory_.first_test_row = 7;
    write_arrow(in_memory_, file());
    in_file_ = open_arrow(file(), 1);
  }
  std::filesystem::path file() const { return folder_.path() / "kept.arrow"; }

  TestFolder folder_;
  Table in_memory_;
  Table in_file_;
};

void expect_same(const Table& a, const Table& b) {
  ASSERT_EQ(a.column_names(), b.column_names());
  ASSERT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.group_column, b.group_column);
  EXPECT_EQ(a.first_test_row, b.first_test_row);
  EXPECT_EQ(a.row_number(7), b.row_number(7));
  for (const std::string& name : a.column_names())
    EXPECT_TRUE(a.column(name)->Equals(*b.column(name))) << name;
  EXPECT_EQ(preview(a).first_rows, preview(b).first_rows);
}

TEST_F(KeptColumns, AreThoseOfTheTable) {
  EXPECT_TRUE(come_when_asked_for(*in_file_.columns));
  EXPECT_FALSE(come_when_asked_for(*open_arrow(file()).columns)) << "a small one is read at once";
  expect_same(in_file_, in_memory_);
  Table again = in_file_;
  again.columns = in_memory(in_file_.columns);
  expect_same(again, in_memory_);
}

// A thread of Arrow may still be about to let go of what it has read, however long it waits for its turn.
bool little_memory_is_held() {
  constexpr std::int64_t little = 64 << 10;
  return test::comes_true([] { return page_memory()->bytes_allocated() < little; });
}

TEST_F(KeptColumns, TakeNoMemoryBeforeTheyAreAskedForNorAfterwards) {
  constexpr std::int64_t rows = 200000;
  const Table opened = open_arrow(file(), 1);
  const Table taken = take_rows(opened, std::vector<std::int64_t>(rows, 5));
  EXPECT_TRUE(little_memory_is_held());
  {
    const auto column = taken.column("many");
    EXPECT_GT(page_memory()->bytes_allocated(), rows * 4);
  }
  preview(opened);
  EXPECT_TRUE(little_memory_is_held());
}

TEST_F(KeptColumns, GiveTheirRowsInTheOrderAskedFor) {
  const std::vector<std::int64_t> order{5, 2, 2000, 5, 0};
  const Table taken = take_rows(in_file_, order);
  EXPECT_TRUE(come_when_asked_for(*taken.columns));
  expect_same(take_rows(taken, {4, 1, 1, 0, 2, 3, 3, 3}),
              take_rows(take_rows(in_memory_, order), {4, 1, 1, 0, 2, 3, 3, 3}));
  EXPECT_THROW(take_rows(in_file_, {kept_rows}), Error);
}

TEST_F(KeptColumns, AreSplitPreparedAndWrittenAsThoseInMemory) {
  PreparationConfig config;
  config.target_column = "y";
  const auto prepared = [&](const Table& table) {
    return Preparation::fit(table, config, Scaling::standard, no_notes()).apply(table, DType::float32, true);
  };
  const Dataset from_file = prepared(in_file_);
  const Dataset from_memory = prepared(in_memory_);
  ASSERT_EQ(from_file.bytes(), from_memory.bytes());
  for (std::size_t i = 0; i < from_memory.arrays.size(); ++i) {
    EXPECT_EQ(0, std::memcmp(from_file.arrays[i].array.data(), from_memory.arrays[i].array.data(),
                             from_memory.arrays[i].array.bytes()));
  }
  EXPECT_EQ(rows_by_value(in_file_, "colour").size(), rows_by_value(in_memory_, "colour").size());
  write_arrow(take_rows(in_file_, {3, 1}), folder_.path() / "part.arrow");
  expect_same(take_rows(read_arrow(folder_.path() / "part.arrow"), std::vector<std::int64_t>(8, 1)),
              take_rows(in_memory_, std::vector<std::int64_t>(8, 1)));
  write_table(in_file_, folder_.path() / "a.csv");
  write_table(in_memory_, folder_.path() / "b.csv");
  EXPECT_EQ(read_file(folder_.path() / "a.csv", 1 << 20), read_file(folder_.path() / "b.csv", 1 << 20));
}

TEST_F(KeptColumns, ChosenAmongChosenOnesStillLieInTheFile) {
  const auto chosen = [](const Table& table) {
    return Table{chosen_columns(chosen_columns(table.columns, {0, 3, 5}), {2, 0})};
  };
  const Table from_file = chosen(in_file_);
  ASSERT_TRUE(come_in_batches(*from_file.columns));
  const std::filesystem::path path = folder_.path() / "chosen.arrow";
  write_arrow(from_file, path);
  expect_same(read_arrow(path), chosen(in_memory_));
}

TEST_F(KeptColumns, OfRangesAreThoseOfTheirRows) {
  const std::vector<std::vector<RangeOfRows>> few_and_many{
      {{10, 700}}, {{0, 300}, {500, 1500}}, {{3, 5}, {8, 9}, {100, 130}}};
  for (const std::vector<RangeOfRows>& ranges : few_and_many) {
    std::vector<std::int64_t> rows;
    for (const RangeOfRows& each : ranges)
      for (std::int64_t row = each.begin; row < each.end; ++row) rows.push_back(row);
    const Table taken{take_rows(in_memory_, rows).columns};
    expect_same({ranges_of_rows(in_file_.columns, ranges)}, taken);
    expect_same({ranges_of_rows(in_memory_.columns, ranges)}, taken);
  }
}

// A column of one piece, as .npy files have them.
TEST_F(KeptColumns, AreCopiedFromAFileAFewRowsAtATime) {
  constexpr std::int64_t rows = 400'000;
  arrow::ArrayVector columns;
  for (int c = 0; c < 4; ++c)
    columns.push_back(std::make_shared<arrow::DoubleArray>(
        rows, arrow::Buffer::FromVector(std::vector<double>(rows, c + 0.5))));
  const auto number = arrow::float64();
  const auto schema = arrow::schema({arrow::field("a", number), arrow::field("b", number),
                                     arrow::field("c", number), arrow::field("d", number)});
  write_arrow({arrow::Table::Make(schema, columns)}, file());
  const Table opened = open_arrow(file(), 1);
  std::int64_t met = 0;
  std::int64_t most = 0;
  each_batch(*opened.columns, [&](const std::shared_ptr<arrow::RecordBatch>& batch) {
    met += batch->num_rows();
    most = std::max(most, page_memory()->bytes_allocated());
  });
  EXPECT_EQ(met, rows);
  EXPECT_LT(most, static_cast<std::int64_t>(4 * rows * sizeof(double) / 2));
}

// More rows than a batch has, so that several threads lay them.
TEST_F(KeptColumns, OfSeveralBatchesArePreparedAsThoseInMemory) {
  constexpr std::int64_t rows = 300'001;
  std::vector<double> a(rows);
  std::vector<double> y(rows);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = i % 1000 == 7 ? std::nan("") : static_cast<double>(i % 977) / 3;
    y[i] = static_cast<double>(i % 31);
  }
  const auto schema =
      arrow::schema({arrow::field("a", arrow::float64()), arrow::field("y", arrow::float64())});
  const auto kept = [&](std::int64_t infinite_row) {
    std::vector<double> numbers = a;
    if (infinite_row >= 0) numbers[static_cast<std::size_t>(infinite_row)] = 1e300;
    const arrow::ArrayVector columns{
        std::make_shared<arrow::DoubleArray>(rows, arrow::Buffer::FromVector(std::move(numbers))),
        std::make_shared<arrow::DoubleArray>(rows, arrow::Buffer::FromVector(y))};
    return Table{arrow::Table::Make(schema, columns)};
  };
  PreparationConfig config;
  config.target_column = "y";
  const Table table = kept(-1);
  const Preparation preparation = Preparation::fit(table, config, Scaling::standard, no_notes());
  write_arrow(table, file());
  const Dataset from_file = preparation.apply(open_arrow(file(), 1), DType::float32, true);
  const Dataset from_memory = preparation.apply(table, DType::float32, true);
  ASSERT_EQ(from_file.bytes(), from_memory.bytes());
  for (std::size_t i = 0; i < from_memory.arrays.size(); ++i)
    EXPECT_EQ(0, std::memcmp(from_file.arrays[i].array.data(), from_memory.arrays[i].array.data(),
                             from_memory.arrays[i].array.bytes()));
  write_arrow(kept(250'000), file());
  for (const Table& faulty : {open_arrow(file(), 1), kept(250'000)}) {
    EXPECT_THAT(refusal([&] { preparation.apply(faulty, DType::float32, true); }),
                AllOf(HasSubstr("'a'"), HasSubstr("row 250001")));
  }
}

TEST_F(KeptColumns, OutliveTheirFilesName) {
  std::filesystem::remove(file());
  expect_same(in_file_, in_memory_);
}

TEST_F(KeptColumns, OfAFileThatIsCutAreAnErrorAndNoCrash) {
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) / 2);
  try {
    in_file_.column("many");
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::run_failed);
    EXPECT_THAT(error.what(), HasSubstr("kept.arrow"));
  }
}

}  // namespace
}  // namespace stoker
