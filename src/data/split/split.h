#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "data/split/split_rows.h"
#include "data/table/table.h"

namespace stoker {

// What becomes of a value to stratify by that is in a single row, which cannot be in both parts.
enum class SmallStrata { refuse, together };
// Of a source that says by itself which rows are to test with: whether these are, or rows drawn from all.
enum class TestRows { given, drawn };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::SmallStrata>{"refuse",
                                                                                            "together"};
template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::TestRows>{"given", "drawn"};

namespace stoker {

struct SplitConfig {
  double train_ratio = 0.8;
  double test_ratio = 0.2;
  TestRows test_rows = TestRows::given;
  std::uint64_t random_seed = 42;
  std::string stratify_column;
  SmallStrata small_strata = SmallStrata::refuse;
  std::string group_column;
  std::string test_from;
  std::string time_column;
  std::vector<std::int64_t> train_ids;
  std::vector<std::int64_t> test_ids;

  bool goes_by_ids() const { return !train_ids.empty() || !test_ids.empty(); }
  bool goes_by_time() const { return !test_from.empty(); }
};

inline config::Fields fields(SplitConfig& c) {
  return {
      config::field("train_ratio", c.train_ratio, "Share of the rows to train on").above(0).within(0, 1),
      config::field("test_ratio", c.test_ratio,
                    "Share of the rows held back for evaluation; 0, with train_ratio 1: all rows are trained "
                    "on")
          .within(0, 1),
      config::field(
          "test_rows", c.test_rows,
          "Of a source that says by itself which rows are to test with (images in IDX form with "
          "t10k files beside them, the sample glyphs): given takes these, drawn draws from all rows "
          "by the ratios. Without meaning for other sources"),
      config::field("random_seed", c.random_seed, "Seed of the shuffle"),
      config::field("stratify_column", c.stratify_column,
                    "Keep the shares of this column's values equal in both parts")
          .optional(),
      config::field("small_strata", c.small_strata,
                    "What to do with values of stratify_column that are in a single row: refuse, or take all "
                    "of them together as if they were one value"),
      config::field("group_column", c.group_column,
                    "Keep the rows that share a value of this column in one part")
          .optional(),
      config::field("test_from", c.test_from,
                    "Time from which on rows are held back, such as '2024-07-01' or '2024-07-01 14:30', in "
                    "place of shares; of windows, the time of the last row of each")
          .optional(),
      config::field("time_column", c.time_column,
                    "Column that test_from is about; windows of a series know theirs")
          .optional(),
      config::field("train_ids", c.train_ids,
                    "Rows to train on, in place of shares, by their number in the source, counted from 0; of "
                    "cubes, the number of each measurement")
          .within(0, 1e15),
      config::field("test_ids", c.test_ids, "Rows to test with, given in the same way; empty: none")
          .within(0, 1e15),
  };
}

// What is wrong with the two ratios, or "".
std::string problem_of_ratios(const SplitConfig& config);
// What is wrong with the settings together, whatever the table, or "".
std::string problem_of(const SplitConfig& config);

// Whether the table has rows to test with that its source gave, and they are to be taken.
bool takes_given_rows(const Table& table, const SplitConfig& config);

// By shares: rows of the two parts, each in ascending order. Ratios may sum to less than 1 (the rest is left
// out), not to more. Refuses when a part would be empty, or a stratum has too few rows to be in both; but
// with ratios of 1 and 0 the first part is all rows. Rows that lie in time are not shuffled: the second part
// are the latest, the first those before them but for what is purged (time_order.h). Where the source gave
// rows to test with, they are the second part and all others the first; refuses ratios and groups then.
SplitRows split_rows(const Table& table, const SplitConfig& config);

// Rows with these numbers in the source, counted from 0, as the second part; all others as the first. An
// error names `setting` if there is no such row.
SplitRows rows_apart(const Table& table, const std::vector<std::int64_t>& ids, const char* setting);

}  // namespace stoker
