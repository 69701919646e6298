#include "train/group/groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/random.h"

namespace stoker {
namespace {

// Apart from the keys of data_split, of validation rows and of folds, which may have the same seed.
constexpr std::uint64_t group_validation_stream = std::uint64_t{2} << 40;
constexpr std::uint64_t group_folds_stream = std::uint64_t{3} << 40;

constexpr std::int64_t trained_on = -1;  // in place of a fold

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  const Permutation permutation(random_key(seed, Purpose::split, stream), count);
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = permutation(i);
  return order;
}

// Classes all of whose rows are in one fold: without that fold, training would not know them.
std::set<std::int64_t> classes_of_one_fold(std::span<const ValueRows> groups,
                                           std::span<const std::int64_t> classes,
                                           const std::vector<std::int64_t>& fold_of) {
  std::map<std::int64_t, std::set<std::int64_t>> met;
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const std::int64_t row : groups[group].rows)
      met[classes[static_cast<std::size_t>(row)]].insert(fold_of[group]);
  std::set<std::int64_t> result;
  for (const auto& [each, folds] : met)
    if (folds.size() == 1 && *folds.begin() != trained_on) result.insert(each);
  return result;
}

void train_on_every_class(std::span<const ValueRows> groups, std::span<const std::int64_t> classes,
                          std::vector<std::int64_t>& fold_of) {
  if (classes.empty()) return;
  std::set<std::int64_t> wanted = classes_of_one_fold(groups, classes, fold_of);
  for (std::size_t group = 0; group < groups.size() && !wanted.empty(); ++group) {
    for (const std::int64_t row : groups[group].rows)
      if (wanted.erase(classes[static_cast<std::size_t>(row)]) > 0) fold_of[group] = trained_on;
  }
}

SplitRows rows_of_fold(std::span<const ValueRows> groups, const std::vector<std::int64_t>& fold_of,
                       std::int64_t fold) {
  SplitRows split;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::vector<std::int64_t>& part = fold_of[group] == fold ? split.second : split.first;
    part.insert(part.end(), groups[group].rows.begin(), groups[group].rows.end());
  }
  std::sort(split.first.begin(), split.first.end());
  std::sort(split.second.begin(), split.second.end());
  return split;
}

}  // namespace

SplitRows set_validation_groups_aside(std::span<const ValueRows> groups,
                                      std::span<const std::int64_t> classes, double ratio,
                                      std::uint64_t seed) {
  if (groups.size() < 2)
    refuse("validation_ratio {}: all training rows belong to one group, which cannot be on both sides",
           ratio);
  std::size_t rows = 0;
  for (const ValueRows& group : groups) rows += group.rows.size();
  std::vector<std::int64_t> fold_of(groups.size(), trained_on);
  double before = 0;
  const std::vector<std::size_t> order = shuffled(groups.size(), seed, group_validation_stream);
  // A group is set aside if its middle row is; the first is so always, the last never.
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const auto size = static_cast<double>(groups[order[i]].rows.size());
    if (i > 0 && before + size / 2 > ratio * static_cast<double>(rows)) break;
    before += size;
    fold_of[order[i]] = 0;
  }
  train_on_every_class(groups, classes, fold_of);
  SplitRows split = rows_of_fold(groups, fold_of, 0);
  if (split.second.empty())
    refuse("validation_ratio {}: no group can be set aside without leaving a class untrained", ratio);
  return split;
}

std::vector<SplitRows> fold_groups(std::span<const ValueRows> groups, std::span<const std::int64_t> classes,
                                   std::int64_t folds, std::uint64_t seed) {
  if (static_cast<std::int64_t>(groups.size()) < folds)
    refuse("{} groups are too few for {} folds; use fewer folds", groups.size(), folds);
  std::vector<std::size_t> order = shuffled(groups.size(), seed, group_folds_stream);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return groups[a].rows.size() > groups[b].rows.size();
  });
  // Largest first, each to the fold that has the fewest rows.
  std::vector<std::size_t> rows_in(static_cast<std::size_t>(folds), 0);
  std::vector<std::int64_t> fold_of(groups.size(), trained_on);
  for (const std::size_t group : order) {
    const auto smallest = std::min_element(rows_in.begin(), rows_in.end());
    *smallest += groups[group].rows.size();
    fold_of[group] = smallest - rows_in.begin();
  }
  train_on_every_class(groups, classes, fold_of);
  std::vector<SplitRows> result;
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    result.push_back(rows_of_fold(groups, fold_of, fold));
    if (result.back().second.empty())
      refuse("{} groups are too few for {} folds that all train on every class; use fewer folds",
             groups.size(), folds);
  }
  return result;
}

}  // namespace stoker
