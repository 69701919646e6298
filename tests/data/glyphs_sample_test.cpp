#include <map>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/sample/samples.h"
#include "data/split/split.h"

namespace stoker {
namespace {

constexpr std::int64_t rows_here = 2'100;

// Values by row: 784 pixels and the label.
std::vector<std::vector<int>> images_of(const Table& table) {
  std::vector<std::vector<int>> images(static_cast<std::size_t>(table.rows()));
  for (const auto& column : table.columns->columns()) {
    std::size_t row = 0;
    for (const auto& chunk : column->chunks()) {
      const auto& values = static_cast<const arrow::UInt8Array&>(*chunk);
      for (std::int64_t i = 0; i < values.length(); ++i) images[row++].push_back(values.Value(i));
    }
  }
  return images;
}

TEST(Glyphs, AreTheSameImagesForTheSameSeedWhateverTheNumberOfRows) {
  const auto all = images_of(make_sample(SampleName::glyphs, 70, 7));
  const auto few = images_of(make_sample(SampleName::glyphs, 7, 7));
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i], all[i]);
  EXPECT_NE(images_of(make_sample(SampleName::glyphs, 70, 8)), all);
}

TEST(Glyphs, HaveASeventhOfTheRowsToTestWith) {
  EXPECT_EQ(usual_rows(SampleName::glyphs), 70'000);
  EXPECT_EQ(first_test_row(SampleName::glyphs, 70'000), 60'000);
  const Table table = make_sample(SampleName::glyphs, 70, 42);
  EXPECT_EQ(table.first_test_row, 60);
  EXPECT_EQ(split_rows(table, {}).second.size(), 10U);
  EXPECT_EQ(table.columns->num_columns(), 785);
  EXPECT_TRUE(table.has_column("pixel_27_27"));
  EXPECT_FALSE(make_sample(SampleName::glyphs, 3, 42).first_test_row);
}

TEST(Glyphs, HaveTheTenClassesAboutEquallyOften) {
  std::map<int, int> counts;
  for (const auto& image : images_of(make_sample(SampleName::glyphs, rows_here, 42))) ++counts[image.back()];
  ASSERT_EQ(counts.size(), 10U);
  for (const auto& [label, count] : counts) {
    EXPECT_GT(count, 150) << label;  // 210 expected, of deviation 14
    EXPECT_LT(count, 270) << label;
  }
}

// By chance it would be 10 of 100.
TEST(Glyphs, AreToldApartByTheirNearestNeighbours) {
  const auto images = images_of(make_sample(SampleName::glyphs, rows_here, 42));
  const auto distance = [](const std::vector<int>& a, const std::vector<int>& b) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < 784; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
  };
  constexpr std::size_t asked = 100;
  std::size_t right = 0;
  for (std::size_t i = 0; i < asked; ++i) {
    std::size_t nearest = asked;
    for (std::size_t other = asked; other < images.size(); ++other)
      if (distance(images[i], images[other]) < distance(images[i], images[nearest])) nearest = other;
    right += images[i].back() == images[nearest].back() ? 1 : 0;
  }
  EXPECT_GT(right, 75U);
}

}  // namespace
}  // namespace stoker
