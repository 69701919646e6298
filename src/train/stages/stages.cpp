#include "train/stages/stages.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "base/text/text.h"
#include "train/rows/taken_rows.h"

namespace stoker {

std::vector<std::vector<std::int64_t>> classes_of_stages(const StageConfig& config,
                                                         std::span<const std::string> classes) {
  if (config.stages.size() < 2) refuse("stages has one stage: give two or more, such as [[0, 1], [2, 3]]");
  std::map<std::string, std::size_t> seen;
  std::vector<std::vector<std::int64_t>> stages;
  for (std::size_t stage = 0; stage < config.stages.size(); ++stage) {
    if (config.stages[stage].empty()) refuse("stage {} has no class", stage + 1);
    stages.emplace_back();
    for (const std::string& name : config.stages[stage]) {
      const auto found = std::ranges::find(classes, name);
      if (found == classes.end())
        refuse("stage {} has the class '{}', which no training row has; there are: {}", stage + 1, name,
               join({classes.begin(), classes.end()}, ", "));
      if (const auto [place, is_new] = seen.emplace(name, stage); !is_new)
        refuse("the class '{}' is in stage {} and again in stage {}; each class arrives once", name,
               place->second + 1, stage + 1);
      stages.back().push_back(found - classes.begin());
    }
  }
  std::vector<std::string> missing;
  for (const std::string& each : classes)
    if (!seen.contains(each)) missing.push_back(each);
  if (!missing.empty())
    refuse("no stage has the {} {}; every class must arrive in one",
           missing.size() == 1 ? "class" : "classes", join(missing, ", "));
  return stages;
}

std::vector<std::int64_t> StageRows::all() const {
  std::vector<std::int64_t> rows = own;
  for (std::int64_t i = 0; i < repeats; ++i) rows.insert(rows.end(), replayed.begin(), replayed.end());
  return rows;
}

StageRows rows_of_stage(std::span<const std::int64_t> class_of_row,
                        std::span<const std::vector<std::int64_t>> stages, std::size_t stage,
                        const StageConfig& config, std::uint64_t seed) {
  const auto is_of = [&](std::size_t number, std::int64_t wanted) {
    return std::ranges::find(stages[number], wanted) != stages[number].end();
  };
  StageRows rows;
  std::vector<std::int64_t> earlier;
  std::size_t earlier_classes = 0;
  for (std::size_t i = 0; i < stage; ++i) earlier_classes += stages[i].size();
  for (std::size_t row = 0; row < class_of_row.size(); ++row) {
    if (is_of(stage, class_of_row[row])) rows.own.push_back(static_cast<std::int64_t>(row));
    for (std::size_t i = 0; i < stage; ++i)
      if (is_of(i, class_of_row[row])) earlier.push_back(static_cast<std::int64_t>(row));
  }
  const std::int64_t count = std::min(config.replay, std::ssize(earlier));
  if (count == 0) return rows;
  const Permutation order(random_key(seed, Purpose::sample, stage), earlier.size());
  for (std::int64_t i = 0; i < count; ++i)
    rows.replayed.push_back(earlier[order(static_cast<std::uint64_t>(i))]);
  std::ranges::sort(rows.replayed);
  const double as_many = static_cast<double>(rows.own.size() * earlier_classes) /
                         static_cast<double>(stages[stage].size() * rows.replayed.size());
  rows.repeats = std::max<std::int64_t>(1, std::llround(as_many));
  return rows;
}

Dataset dataset_of_rows(const Dataset& all, std::span<const std::int64_t> rows) {
  Dataset some;
  for (const DatasetArray& each : all.arrays) {
    DatasetArray part = each;
    if (each.has_windows()) {
      part.starts = taken_rows(each.starts, rows);
    } else {
      part.array = taken_rows(each.array, rows);
    }
    some.arrays.push_back(std::move(part));
  }
  return some;
}

}  // namespace stoker
