#include "data/split/split.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/random.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/split/time_order.h"
#include "data/table/value_rows.h"

namespace stoker {
namespace {

using Rows = std::vector<std::int64_t>;

Rows shuffled(Rows rows, std::uint64_t seed, std::uint64_t step) {
  const Permutation permutation(random_key(seed, Purpose::split, step), rows.size());
  Rows result(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) result[i] = rows[permutation(i)];
  return result;
}

Rows all_rows(std::int64_t count) {
  Rows rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

void append(Rows& target, const Rows& source, std::int64_t begin, std::int64_t end) {
  target.insert(target.end(), source.begin() + begin, source.begin() + end);
}

struct Counts {
  std::int64_t first;
  std::int64_t second;
};

Counts counts_of(std::int64_t rows, const SplitConfig& config) {
  const auto share = [&](double ratio) {
    return static_cast<std::int64_t>(std::llround(ratio * static_cast<double>(rows)));
  };
  const std::int64_t first = share(config.train_ratio);
  // Both halves of an odd row would round up.
  return {first, std::min(share(config.test_ratio), rows - first)};
}

SplitRows split_plainly(std::int64_t rows, const SplitConfig& config) {
  const Counts counts = counts_of(rows, config);
  if (counts.first < 1 || counts.second < 1) {
    refuse("{} rows are too few to split into {} and {}: a part would be empty", rows, config.train_ratio,
           config.test_ratio);
  }
  Rows order = shuffled(all_rows(rows), config.random_seed, 0);
  SplitRows result;
  append(result.second, order, counts.first, counts.first + counts.second);
  order.resize(static_cast<std::size_t>(counts.first));
  result.first = std::move(order);
  return result;
}

// Those of a single row as one; a row that is left alone stays in the first part.
std::vector<ValueRows> with_small_together(std::vector<ValueRows> strata, Rows& left_alone) {
  Rows together;
  std::erase_if(strata, [&](const ValueRows& stratum) {
    if (stratum.rows.size() > 1) return false;
    append(together, stratum.rows, 0, static_cast<std::int64_t>(stratum.rows.size()));
    return true;
  });
  if (together.size() > 1) {
    strata.push_back({"", std::move(together)});
  } else {
    left_alone = std::move(together);
  }
  return strata;
}

// Every stratum is cut at its own share; the rounding error is carried to the next, so that the sizes of the
// parts as a whole stay within a row of the ratios.
SplitRows split_strata(const std::vector<ValueRows>& strata, const SplitConfig& config) {
  SplitRows result;
  double carry_first = 0;
  double carry_both = 0;
  for (std::size_t s = 0; s < strata.size(); ++s) {
    const auto size = static_cast<std::int64_t>(strata[s].rows.size());
    if (size < 2) {
      refuse_setting(
          "stratify_column",
          "stratify_column '{}': the value '{}' occurs in a single row, which cannot be in both parts",
          config.stratify_column, strata[s].value);
    }
    const double want_first = config.train_ratio * static_cast<double>(size) + carry_first;
    const double want_both =
        (config.train_ratio + config.test_ratio) * static_cast<double>(size) + carry_both;
    const std::int64_t both = std::clamp<std::int64_t>(std::llround(want_both), 2, size);
    const std::int64_t first = std::clamp<std::int64_t>(std::llround(want_first), 1, both - 1);
    carry_first = want_first - static_cast<double>(first);
    carry_both = want_both - static_cast<double>(both);
    const Rows order = shuffled(strata[s].rows, config.random_seed, s + 1);
    append(result.first, order, 0, first);
    append(result.second, order, first, both);
  }
  return result;
}

SplitRows split_in_time(const Table& table, const SplitConfig& config) {
  const std::string& column = config.stratify_column.empty() ? config.group_column : config.stratify_column;
  if (!column.empty())
    refuse(
        "{} '{}' cannot be kept: these rows are windows of a series, of which the later ones are held back; "
        "rows chosen in any other way would share moments with those that are trained on. Leave it out",
        config.stratify_column.empty() ? "group_column" : "stratify_column", column);
  const Counts counts = counts_of(table.rows(), config);
  if (counts.first < 1 || counts.second < 1)
    refuse("{} rows are too few to split into {} and {}: a part would be empty", table.rows(),
           config.train_ratio, config.test_ratio);
  return split_by_time(table, counts.first, counts.second);
}

// Groups in shuffled order side by side; a group goes to the part in which its middle row lies.
SplitRows split_groups(const std::vector<ValueRows>& groups, std::int64_t rows, const SplitConfig& config) {
  if (groups.size() < 2) {
    refuse_setting("group_column", "group_column '{}' has a single value, so all rows would be in one part",
                   config.group_column);
  }
  const Counts counts = counts_of(rows, config);
  const Rows order = shuffled(all_rows(static_cast<std::int64_t>(groups.size())), config.random_seed, 0);
  std::vector<int> part(groups.size(), 2);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto size = static_cast<std::int64_t>(groups[static_cast<std::size_t>(order[i])].rows.size());
    const double middle = static_cast<double>(before) + static_cast<double>(size) / 2;
    before += size;
    if (middle <= static_cast<double>(counts.first)) {
      part[i] = 0;
    } else if (middle <= static_cast<double>(counts.first + counts.second)) {
      part[i] = 1;
    }
  }
  part[0] = 0;
  const auto first_groups = static_cast<std::size_t>(std::count(part.begin(), part.end(), 0));
  if (std::count(part.begin(), part.end(), 1) == 0) part[std::min(first_groups, groups.size() - 1)] = 1;
  SplitRows result;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (part[i] == 2) continue;
    const Rows& members = groups[static_cast<std::size_t>(order[i])].rows;
    append(part[i] == 0 ? result.first : result.second, members, 0,
           static_cast<std::int64_t>(members.size()));
  }
  return result;
}

SplitRows split_as_given(const Table& table, const SplitConfig& config) {
  const SplitConfig usual;
  const bool has_ratios = config.train_ratio != usual.train_ratio || config.test_ratio != usual.test_ratio;
  if (has_ratios || !config.group_column.empty())
    refuse(
        "the source says by itself which rows are to test with, which leaves nothing to {}; leave it out, or "
        "set test_rows to drawn (--test-rows drawn) to draw them from all rows",
        has_ratios ? "train_ratio and test_ratio" : "group_column");
  SplitRows result;
  for (std::int64_t row = 0; row < table.rows(); ++row)
    (table.row_number(row) <= *table.first_test_row ? result.first : result.second).push_back(row);
  if (result.first.empty() || result.second.empty())
    refuse(
        "of the rows that the source has to {} none is left; set test_rows to drawn (--test-rows drawn) to "
        "draw rows to test with from those that are",
        result.first.empty() ? "train on" : "test with");
  return result;
}

// Rows with these numbers in what was read. Names those that are not there.
Rows rows_with_ids(const Table& table, const std::vector<std::int64_t>& ids, const char* setting) {
  std::unordered_map<std::int64_t, std::int64_t> row_of;
  for (std::int64_t row = 0; row < table.rows(); ++row) row_of.emplace(table.row_number(row) - 1, row);
  Rows rows;
  for (const std::int64_t id : ids) {
    const auto found = row_of.find(id);
    if (found == row_of.end())
      refuse(
          "{}: there is no row {} among the {} here; rows have their numbers of the source, counted from 0",
          setting, id, counted(static_cast<std::uint64_t>(table.rows()), "row"));
    rows.push_back(found->second);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

SplitRows rows_apart(const Table& table, const std::vector<std::int64_t>& ids, const char* setting) {
  SplitRows result;
  result.second = rows_with_ids(table, ids, setting);
  std::ranges::set_difference(all_rows(table.rows()), result.second, std::back_inserter(result.first));
  return result;
}

bool takes_given_rows(const Table& table, const SplitConfig& config) {
  return table.first_test_row && config.test_rows == TestRows::given && config.test_ratio > 0 &&
         !config.goes_by_time() && !config.goes_by_ids() && !table.time_order;
}

std::string problem_of_ratios(const SplitConfig& config) {
  constexpr double rounding = 1e-9;
  if (!(config.train_ratio > 0) || !(config.test_ratio >= 0))
    return fmt::format("train_ratio {} must be above 0 and test_ratio {} not below 0", config.train_ratio,
                       config.test_ratio);
  if (config.train_ratio + config.test_ratio > 1 + rounding)
    return fmt::format("train_ratio {} and test_ratio {} add up to more than 1", config.train_ratio,
                       config.test_ratio);
  if (config.test_ratio == 0 && config.train_ratio != 1)
    return fmt::format("test_ratio 0 holds no rows back, so train_ratio must be 1, not {}",
                       config.train_ratio);
  return "";
}

namespace {

std::string problem_of_ids(const SplitConfig& config) {
  const SplitConfig usual;
  if (config.train_ids.empty()) return "test_ids are set, but train_ids are not; name the rows to train on";
  if (config.goes_by_time() || !config.time_column.empty() || !config.stratify_column.empty() ||
      !config.group_column.empty() || config.train_ratio != usual.train_ratio ||
      config.test_ratio != usual.test_ratio)
    return "train_ids and test_ids name the rows of both parts; leave out ratios, test_from, time_column, "
           "stratify_column and group_column";
  std::set<std::int64_t> known;
  for (const auto* ids : {&config.train_ids, &config.test_ids})
    for (const std::int64_t id : *ids)
      if (!known.insert(id).second) return fmt::format("row {} is named twice in train_ids and test_ids", id);
  return "";
}

}  // namespace

std::string problem_of(const SplitConfig& config) {
  const SplitConfig usual;
  if (config.goes_by_ids()) return problem_of_ids(config);
  if (!config.stratify_column.empty() && !config.group_column.empty())
    return "stratify_column and group_column are both set: groups that stay whole cannot also keep shares "
           "equal; set only one of them";
  if (!config.goes_by_time())
    return config.time_column.empty() ? "" : "time_column is for test_from, which is not set";
  if (!config.stratify_column.empty() || !config.group_column.empty())
    return "test_from divides the rows by time, which leaves nothing to stratify_column or group_column";
  if (config.train_ratio != usual.train_ratio || config.test_ratio != usual.test_ratio)
    return "test_from divides the rows by time, which leaves nothing to train_ratio and test_ratio";
  return "";
}

SplitRows split_rows(const Table& table, const SplitConfig& config) {
  for (const std::string& problem : {problem_of_ratios(config), problem_of(config)})
    if (!problem.empty()) refuse("{}", problem);
  if (config.goes_by_time()) fail("rows are to be divided by time, which split_from_time() does");
  if (config.goes_by_ids()) {
    if (table.time_order)
      refuse(
          "train_ids name rows, but these are windows of a series, which are divided by time; use test_from");
    return {rows_with_ids(table, config.train_ids, "train_ids"),
            rows_with_ids(table, config.test_ids, "test_ids")};
  }
  if (config.test_ratio == 0) return {all_rows(table.rows()), {}};
  if (takes_given_rows(table, config)) return split_as_given(table, config);
  if (table.rows() < 2)
    refuse("a table of {} is too small to split: both parts need a row",
           counted(static_cast<std::uint64_t>(table.rows()), "row"));
  if (table.time_order) return split_in_time(table, config);
  SplitRows result;
  if (!config.stratify_column.empty()) {
    std::vector<ValueRows> strata = rows_by_value(table, config.stratify_column);
    Rows left_alone;
    if (config.small_strata == SmallStrata::together)
      strata = with_small_together(std::move(strata), left_alone);
    result = split_strata(strata, config);
    append(result.first, left_alone, 0, static_cast<std::int64_t>(left_alone.size()));
  } else if (!config.group_column.empty()) {
    result = split_groups(rows_by_value(table, config.group_column), table.rows(), config);
  } else {
    result = split_plainly(table.rows(), config);
  }
  std::sort(result.first.begin(), result.first.end());
  std::sort(result.second.begin(), result.second.end());
  return result;
}

}  // namespace stoker
