#include "report/compare/compare_seeds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/human_number.h"
#include "base/text/text.h"
#include "report/compare/compare_settings.h"
#include "report/sweep/sweep_winner.h"

namespace stoker {
namespace {

using Metrics = std::map<std::string, double>;  // by "<card>.<metric>"

// Runs of one setting; where several have the same seeds, the first of them counts.
struct Repetitions {
  RunSettings settings;  // without seeds
  std::vector<const ListedRun*> runs;
  std::map<std::string, Metrics> by_seeds;
};

bool is_seed(const std::string& path) {
  const std::string name = path.substr(path.rfind('.') + 1);
  return name == "seed" || name.ends_with("_seed");
}

Metrics metrics_of(const ListedRun& run) {
  Metrics metrics;
  for (const RunRecord::Result& result : run.record.results)
    for (const auto& [name, value] : result.metrics)
      if (std::isfinite(value)) metrics.emplace(result.card + "." + name, value);
  return metrics;
}

// In the order of their first runs. What a sweep found is nobody's repetition.
std::vector<Repetitions> repetitions_of(const std::vector<ListedRun>& runs) {
  std::vector<Repetitions> all;
  for (const ListedRun& run : runs) {
    RunSettings settings = settings_of(run.paths);
    std::string seeds;
    std::erase_if(settings, [&](const auto& setting) {
      if (!is_seed(setting.first)) return false;
      seeds += fmt::format("{}={}\n", setting.first, setting.second);
      return true;
    });
    if (winner_of(run.paths)) settings["sweep"] = run.id;
    auto found = std::ranges::find(all, settings, &Repetitions::settings);
    if (found == all.end()) found = all.insert(all.end(), {std::move(settings), {}, {}});
    found->runs.push_back(&run);
    found->by_seeds.try_emplace(seeds, metrics_of(run));
  }
  return all;
}

bool has_several_seeds(const std::vector<Repetitions>& all) {
  return std::ranges::any_of(all, [](const Repetitions& each) { return each.by_seeds.size() > 1; });
}

struct Spread {
  double mean = 0;
  double squares = 0;  // sum of those of the deviations
  std::size_t count = 0;

  double deviation() const {
    return count > 1 ? std::sqrt(squares / static_cast<double>(count - 1)) : std::nan("");
  }
};

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  spread.count = values.size();
  for (const double value : values) spread.mean += value / static_cast<double>(values.size());
  for (const double value : values) spread.squares += (value - spread.mean) * (value - spread.mean);
  return spread;
}

std::vector<double> values_of(const Repetitions& repetitions, const std::string& metric) {
  std::vector<double> values;
  for (const auto& [seeds, metrics] : repetitions.by_seeds)
    if (const auto found = metrics.find(metric); found != metrics.end()) values.push_back(found->second);
  return values;
}

// 95 of 100 differences that are chance alone are smaller than so many standard errors: Student's t, by its
// expansion around the normal distribution where the table ends.
double errors_of_chance(std::size_t degrees) {
  constexpr std::array<double, 10> few{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  if (degrees <= few.size()) return few[degrees - 1];
  const auto n = static_cast<double>(degrees);
  return 1.95996 + 2.37227 / n + 2.8225 / (n * n);
}

struct SeedDifference {
  double value = 0;
  double standard_error = 0;
  std::size_t degrees = 1;
  bool is_paired = false;

  double chance() const { return errors_of_chance(degrees) * standard_error; }
  bool is_more_than_noise() const { return std::abs(value) > chance(); }
};

// With the same seeds in both, what a seed has in common (the split of the rows) cancels out.
std::optional<std::vector<double>> differences_by_seed(const Repetitions& first, const Repetitions& other,
                                                       const std::string& metric) {
  std::vector<double> differences;
  for (const auto& [seeds, metrics] : other.by_seeds) {
    const auto twin = first.by_seeds.find(seeds);
    if (twin == first.by_seeds.end() || !twin->second.contains(metric) || !metrics.contains(metric))
      return std::nullopt;
    differences.push_back(metrics.at(metric) - twin->second.at(metric));
  }
  const bool same_seeds = first.by_seeds.size() == other.by_seeds.size();
  return same_seeds && differences.size() > 1 ? std::optional(differences) : std::nullopt;
}

// None where nothing is known of the spread. Where one of the two has a single seed, seeds are taken to
// change it as much as the other.
std::optional<SeedDifference> difference_of(const Repetitions& first, const Repetitions& other,
                                            const std::string& metric) {
  if (const auto differences = differences_by_seed(first, other, metric)) {
    const Spread spread = spread_of(*differences);
    return SeedDifference{spread.mean, spread.deviation() / std::sqrt(static_cast<double>(spread.count)),
                          spread.count - 1, true};
  }
  const Spread one = spread_of(values_of(first, metric));
  const Spread two = spread_of(values_of(other, metric));
  if (one.count == 0 || two.count == 0 || one.count + two.count < 3) return std::nullopt;
  const std::size_t degrees = one.count + two.count - 2;
  const double variance = (one.squares + two.squares) / static_cast<double>(degrees);
  const double share = 1 / static_cast<double>(one.count) + 1 / static_cast<double>(two.count);
  return SeedDifference{two.mean - one.mean, std::sqrt(variance * share), degrees};
}

std::vector<std::string> names_of_metrics_in(const std::vector<Repetitions>& all) {
  std::vector<std::string> names;
  for (const Repetitions& each : all)
    for (const auto& [seeds, metrics] : each.by_seeds)
      for (const auto& [name, value] : metrics)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::string over_seeds(const Spread& spread) {
  if (spread.count == 0) return "–";
  if (spread.count == 1) return human_number(spread.mean);
  return fmt::format("{} ± {:.2g}", human_number(spread.mean), spread.deviation());
}

std::string verdict_on(const std::optional<SeedDifference>& difference) {
  if (!difference) return "–";
  return fmt::format(
      "{} ± {:.2g}, {}", human_number(difference->value), difference->chance(),
      difference->is_more_than_noise() ? "more than the noise of seeds" : "may be the noise of seeds");
}

}  // namespace

std::vector<std::vector<std::string>> seed_rows(const std::vector<ListedRun>& runs) {
  const std::vector<Repetitions> all = repetitions_of(runs);
  if (!has_several_seeds(all)) return {};
  std::vector<std::vector<std::string>> rows{{"runs that differ in seeds alone"}, {"seeds"}};
  for (const Repetitions& each : all) {
    const std::size_t others = each.runs.size() - 1;
    rows[0].push_back(each.runs.front()->id + (others == 0 ? "" : fmt::format(" and {} more", others)));
    rows[1].push_back(human_count(each.by_seeds.size()));
  }
  for (const std::string& metric : names_of_metrics_in(all)) {
    std::vector<std::string>& row = rows.emplace_back(1, metric);
    for (const Repetitions& each : all) row.push_back(over_seeds(spread_of(values_of(each, metric))));
    if (all.size() < 2) continue;
    std::vector<std::string>& differences = rows.emplace_back(1, "difference of " + metric);
    differences.emplace_back("");
    for (std::size_t i = 1; i < all.size(); ++i)
      differences.push_back(verdict_on(difference_of(all.front(), all[i], metric)));
  }
  return rows;
}

nlohmann::json seeds_json(const std::vector<ListedRun>& runs) {
  const std::vector<Repetitions> all = repetitions_of(runs);
  nlohmann::json list = nlohmann::json::array();
  for (const Repetitions& each : all) {
    nlohmann::json ids = nlohmann::json::array();
    for (const ListedRun* run : each.runs) ids.push_back(run->id);
    nlohmann::json metrics = nlohmann::json::object();
    for (const std::string& metric : names_of_metrics_in({each})) {
      const Spread spread = spread_of(values_of(each, metric));
      nlohmann::json& entry = metrics[metric] = {{"mean", spread.mean}, {"seeds", spread.count}};
      if (spread.count > 1) entry["deviation"] = spread.deviation();
      if (&each == &all.front()) continue;
      if (const auto difference = difference_of(all.front(), each, metric))
        entry["against_first"] = {{"difference", difference->value},
                                  {"standard_error", difference->standard_error},
                                  {"degrees_of_freedom", difference->degrees},
                                  {"paired", difference->is_paired},
                                  {"more_than_noise", difference->is_more_than_noise()}};
    }
    list.push_back(
        {{"runs", std::move(ids)}, {"seeds", each.by_seeds.size()}, {"metrics", std::move(metrics)}});
  }
  return list;
}

std::string unknown_of_seeds(const std::vector<ListedRun>& runs) {
  const std::vector<Repetitions> all = repetitions_of(runs);
  if (all.size() < 2 || names_of_metrics_in(all).empty()) return "";
  const auto single = std::ranges::count_if(all, [](const auto& each) { return each.by_seeds.size() == 1; });
  if (single == 0) return "";
  if (has_several_seeds(all))
    return fmt::format(
        "{} of {} settings {} run with a single seed, which is taken to matter there as much "
        "as in the others",
        single, all.size(), single == 1 ? "was" : "were");
  return "each setting was run with a single seed: differences are held against the chance of the test rows, "
         "and how much another seed would change them is not known; to know it, run each with several seeds "
         "(--seed, or --set cards.CARD.config.seed=N) and compare all of them";
}

}  // namespace stoker
