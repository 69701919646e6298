#include "data/target/target_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <arrow/chunked_array.h>
#include <fmt/format.h>

#include "base/random.h"
#include "data/prepare/category_slots.h"
#include "data/prepare/column_scale.h"
#include "data/split/time_order.h"
#include "data/table/value_rows.h"

namespace stoker {
namespace {

// Apart from what else is split.
constexpr std::uint64_t inner_folds_stream = std::uint64_t{1} << 41;

// Of one text: columns of a table with many classes, and numbers that a model keeps of them.
constexpr std::size_t most_statistics = 100;
constexpr std::size_t most_means = 5'000'000;

// Some rows of a category; sums are of what the target deviates from the mean of all rows.
struct Tally {
  double rows = 0;
  double sum = 0;

  Tally& operator+=(const Tally& other) {
    rows += other.rows;
    sum += other.sum;
    return *this;
  }
  Tally without(const Tally& part) const { return {rows - part.rows, sum - part.sum}; }
};

std::size_t known_slots(const PreparedColumn& column) {
  return column.categories.size();
}

// [slots, inner_folds]. What is unseen, or rare, deviates from the mean by nothing that is known.
std::vector<Tally> tally_folds(const PreparedColumn& column, const TargetStatistic& statistic,
                               std::span<const std::int32_t> slots, const OwnRows& own) {
  std::vector<Tally> tallies((known_slots(column) + 1) * inner_folds);
  for (std::size_t row = 0; row < slots.size(); ++row) {
    const auto slot = static_cast<std::size_t>(slots[row]);
    if (slot == known_slots(column)) continue;
    const double deviation = own.targets.value(row, statistic.of_class) - statistic.means.back();
    tallies[slot * inner_folds + static_cast<std::size_t>(own.folds[row])] += {1, deviation};
  }
  return tallies;
}

Tally whole_of(std::span<const Tally> tallies, std::size_t slot) {
  Tally whole;
  for (const Tally& each : tallies.subspan(slot * inner_folds, inner_folds)) whole += each;
  return whole;
}

double drawn_to_the_mean(const Tally& tally, const TargetStatistic& statistic) {
  const double weight = tally.rows + statistic.smoothing;
  return statistic.means.back() + (tally.rows > 0 ? tally.sum / weight : 0);
}

double overall_mean(const OwnRows& own, std::int64_t of_class) {
  double mean = 0;
  for (std::size_t row = 0; row < own.targets.numbers.size(); ++row)
    mean += (own.targets.value(row, of_class) - mean) / static_cast<double>(row + 1);
  return mean;
}

// Variances within and between categories by the analysis of variance of one way, whose groups differ in
// size. As many rows as there are at most: nothing is then between them.
double smoothing_for(const PreparedColumn& column, const TargetStatistic& statistic,
                     std::span<const std::int32_t> slots, const OwnRows& own,
                     std::span<const Tally> tallies) {
  Tally all;
  double squares = 0;
  for (std::size_t row = 0; row < slots.size(); ++row) {
    if (static_cast<std::size_t>(slots[row]) == known_slots(column)) continue;
    const double deviation = own.targets.value(row, statistic.of_class) - statistic.means.back();
    all += {1, deviation};
    squares += deviation * deviation;
  }
  double explained = 0;  // squares that the means of the categories make up for
  double squared_rows = 0;
  for (std::size_t slot = 0; slot < known_slots(column); ++slot) {
    const Tally whole = whole_of(tallies, slot);
    if (whole.rows == 0) continue;
    explained += whole.sum * whole.sum / whole.rows;
    squared_rows += whole.rows * whole.rows;
  }
  const auto categories = static_cast<double>(known_slots(column));
  if (categories < 2 || all.rows <= categories) return all.rows;
  const double within = std::max(0.0, squares - explained) / (all.rows - categories);
  const double between_rows = (all.rows - squared_rows / all.rows) / (categories - 1);
  const double between =
      ((explained - all.sum * all.sum / all.rows) / (categories - 1) - within) / between_rows;
  return within < all.rows * between ? within / between : all.rows;
}

// All classes but the first; where those are too many, the most frequent of them.
std::vector<std::int64_t> classes_to_count(const PreparedColumn& column, const OwnRows& own,
                                           const Notes& notes) {
  if (own.targets.classes == 0) return {0};
  std::vector<std::int64_t> classes(static_cast<std::size_t>(own.targets.classes - 1));
  std::iota(classes.begin(), classes.end(), 1);
  const std::size_t most =
      std::clamp<std::size_t>(most_means / (known_slots(column) + 1), 1, most_statistics);
  if (classes.size() <= most) return classes;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(own.targets.classes));
  for (const double number : own.targets.numbers) ++rows[static_cast<std::size_t>(number)];
  std::stable_sort(classes.begin(), classes.end(), [&](std::int64_t a, std::int64_t b) {
    return rows[static_cast<std::size_t>(a)] > rows[static_cast<std::size_t>(b)];
  });
  classes.resize(most);
  std::sort(classes.begin(), classes.end());
  notes(Severity::info, fmt::format("column '{}': the shares of the {} most frequent of {} classes are used",
                                    column.name, most, own.targets.classes));
  return classes;
}

// As training will read them.
std::vector<double> means_of_rows(const PreparedColumn& column, const TargetStatistic& statistic,
                                  std::span<const std::int32_t> slots, const OwnRows& own,
                                  std::span<const Tally> tallies) {
  std::vector<double> means(slots.size());
  std::vector<Tally> whole;
  for (std::size_t slot = 0; slot <= known_slots(column); ++slot) whole.push_back(whole_of(tallies, slot));
  for (std::size_t row = 0; row < slots.size(); ++row) {
    const auto slot = static_cast<std::size_t>(slots[row]);
    const Tally& own_fold = tallies[slot * inner_folds + static_cast<std::size_t>(own.folds[row])];
    means[row] = drawn_to_the_mean(whole[slot].without(own_fold), statistic);
  }
  return means;
}

TargetStatistic learn_statistic(const PreparedColumn& column, std::int64_t of_class,
                                std::span<const std::int32_t> slots, const OwnRows& own, Scaling scaling) {
  TargetStatistic statistic;
  statistic.of_class = of_class;
  statistic.means = {overall_mean(own, of_class)};
  const std::vector<Tally> tallies = tally_folds(column, statistic, slots, own);
  statistic.smoothing = smoothing_for(column, statistic, slots, own, tallies);
  learn_scale(statistic, means_of_rows(column, statistic, slots, own, tallies), scaling);
  std::vector<double> means;
  for (std::size_t slot = 0; slot < known_slots(column); ++slot)
    means.push_back(drawn_to_the_mean(whole_of(tallies, slot), statistic));
  means.push_back(statistic.means.back());
  statistic.means = std::move(means);
  return statistic;
}

std::vector<std::int32_t> deal_folds(const Table& training) {
  std::vector<std::int32_t> folds(static_cast<std::size_t>(training.rows()));
  if (training.time_order) {
    const std::vector<std::int64_t> order = rows_in_time(training);
    for (std::size_t i = 0; i < order.size(); ++i)
      folds[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i * inner_folds / order.size());
    return folds;
  }
  const auto dealt = [](std::uint64_t count) {
    return Permutation(random_key(0, Purpose::split, inner_folds_stream), count);
  };
  if (!training.group_column.empty()) {
    const std::vector<ValueRows> groups = rows_by_value(training, training.group_column);
    const Permutation order = dealt(groups.size());
    for (std::size_t i = 0; i < groups.size() && groups.size() > 1; ++i)
      for (const std::int64_t row : groups[i].rows)
        folds[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(order(i) % inner_folds);
    if (groups.size() > 1) return folds;
  }
  const Permutation order = dealt(folds.size());
  for (std::size_t row = 0; row < folds.size(); ++row)
    folds[row] = static_cast<std::int32_t>(order(row) % inner_folds);
  return folds;
}

}  // namespace

OwnRows own_rows(const Table& training, RowTargets targets) {
  return {std::move(targets), deal_folds(training)};
}

bool has_target_statistics(const std::vector<PreparedColumn>& columns) {
  return std::any_of(columns.begin(), columns.end(), [](const PreparedColumn& column) {
    return column.kind == PreparedColumn::Kind::target;
  });
}

void learn_target_statistics(PreparedColumn& column, const Table& training, const OwnRows& own,
                             Scaling scaling, const Notes& notes) {
  std::int64_t missing = 0;
  const std::vector<std::int32_t> slots = slots_of(column, training.column(column.name), missing);
  for (const std::int64_t each : classes_to_count(column, own, notes))
    column.statistics.push_back(learn_statistic(column, each, slots, own, scaling));
}

std::vector<double> statistics_of_slots(const PreparedColumn& column) {
  const std::size_t width = column.statistics.size();
  std::vector<double> statistics((known_slots(column) + 1) * width);
  for (std::size_t i = 0; i < width; ++i) {
    const TargetStatistic& statistic = column.statistics[i];
    for (std::size_t slot = 0; slot < statistic.means.size(); ++slot)
      statistics[slot * width + i] = scaled(statistic, statistic.means[slot]);
  }
  return statistics;
}

std::vector<double> statistics_without_folds(const PreparedColumn& column,
                                             std::span<const std::int32_t> slots, const OwnRows& own) {
  const std::size_t width = column.statistics.size();
  std::vector<double> statistics((known_slots(column) + 1) * inner_folds * width);
  for (std::size_t i = 0; i < width; ++i) {
    const TargetStatistic& statistic = column.statistics[i];
    const std::vector<Tally> tallies = tally_folds(column, statistic, slots, own);
    for (std::size_t slot = 0; slot <= known_slots(column); ++slot) {
      const Tally whole = whole_of(tallies, slot);
      for (std::size_t fold = 0; fold < inner_folds; ++fold) {
        const std::size_t place = slot * inner_folds + fold;
        statistics[place * width + i] =
            scaled(statistic, drawn_to_the_mean(whole.without(tallies[place]), statistic));
      }
    }
  }
  return statistics;
}

}  // namespace stoker
