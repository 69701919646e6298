#include "train/rows/validation.h"

#include <algorithm>
#include <map>
#include <set>

#include "expect_error.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::map<std::int64_t, int> counts(const std::vector<std::int64_t>& rows,
                                   const std::vector<std::int64_t>& classes) {
  std::map<std::int64_t, int> result;
  for (const std::int64_t row : rows) ++result[classes[static_cast<std::size_t>(row)]];
  return result;
}

TEST(Validation, TakesItsShareAndLeavesEveryOtherRow) {
  const SplitRows split = set_validation_rows_aside(1001, {}, 0.2, 42);
  EXPECT_EQ(split.second.size(), 200U);
  std::set<std::int64_t> all(split.first.begin(), split.first.end());
  all.insert(split.second.begin(), split.second.end());
  EXPECT_EQ(all.size(), 1001U);
  EXPECT_EQ(*all.rbegin(), 1000);
  EXPECT_TRUE(std::is_sorted(split.first.begin(), split.first.end()));
  EXPECT_TRUE(std::is_sorted(split.second.begin(), split.second.end()));
}

TEST(Validation, IsSpreadOverTheTable) {
  const SplitRows split = set_validation_rows_aside(10'000, {}, 0.1, 42);
  const auto in_first_half =
      std::count_if(split.second.begin(), split.second.end(), [](auto row) { return row < 5'000; });
  EXPECT_NEAR(static_cast<double>(in_first_half), 500, 80);
}

TEST(Validation, DependsOnTheSeedAndOnNothingElse) {
  EXPECT_EQ(set_validation_rows_aside(100, {}, 0.3, 1).second,
            set_validation_rows_aside(100, {}, 0.3, 1).second);
  EXPECT_NE(set_validation_rows_aside(100, {}, 0.3, 1).second,
            set_validation_rows_aside(100, {}, 0.3, 2).second);
}

TEST(Validation, GivesEachClassItsShare) {
  std::vector<std::int64_t> classes;
  for (int i = 0; i < 1000; ++i) classes.push_back(i % 10 == 0 ? 2 : i % 2);
  const SplitRows split = set_validation_rows_aside(1000, classes, 0.2, 42);
  EXPECT_EQ(split.second.size(), 200U);
  const std::map<std::int64_t, int> validation = counts(split.second, classes);
  for (const auto& [number, rows] : counts(split.first, classes)) {
    const int of_class = rows + validation.at(number);
    EXPECT_NEAR(validation.at(number), 0.2 * of_class, 1.01) << "class " << number;
  }
}

TEST(Validation, NeverTakesTheOnlyRowOfAClass) {
  const std::vector<std::int64_t> classes{0, 0, 0, 0, 1, 0, 0, 2, 0, 0};
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(counts(set_validation_rows_aside(10, classes, 0.5, seed).first, classes).size(), 3U);
}

TEST(Validation, RefusesTablesThatAreTooSmallForItsShare) {
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [] { set_validation_rows_aside(4, {}, 0.1, 1); }),
              AllOf(HasSubstr("validation_ratio 0.1 of 4 rows"), HasSubstr("no row to validate on")));
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [] { set_validation_rows_aside(4, {}, 0.9, 1); }),
              HasSubstr("too few rows to train on"));
  const std::vector<std::int64_t> classes{0, 1, 2, 3};
  EXPECT_THAT(
      test::error_of(ExitCode::wrong_request, [&] { set_validation_rows_aside(4, classes, 0.25, 1); }),
      HasSubstr("too few rows to train on"));
}

}  // namespace
}  // namespace stoker
