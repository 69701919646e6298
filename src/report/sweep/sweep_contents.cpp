#include "report/sweep/sweep_contents.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t largest_sweep_file = 512U << 20;

std::filesystem::path sweep_file(const std::filesystem::path& folder) {
  return folder / "sweep.json";
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<double> numbers(const json& list) {
  std::vector<double> values;
  for (const json& each : list) values.push_back(each.is_number() ? each.get<double>() : std::nan(""));
  return values;
}

SweepContents::Trial trial_from(const json& value) {
  SweepContents::Trial trial;
  trial.number = value.at("trial").get<std::int64_t>();
  trial.status = value.at("status").get<std::string>();
  trial.reason = value.at("reason").get<std::string>();
  if (value.at("score").is_number()) trial.score = value.at("score").get<double>();
  trial.spread = value.at("spread").is_number() ? value.at("spread").get<double>() : 0;
  trial.epochs = value.at("epochs").get<std::int64_t>();
  trial.seconds = value.at("seconds").get<double>();
  return trial;
}

// Where the values of a setting stand on its axis.
SweepContents::Setting setting_from(const std::string& name, const json& trials) {
  SweepContents::Setting setting{name, {}, false, false, {}};
  bool all_numbers = true;
  for (const json& trial : trials) all_numbers = all_numbers && trial.at("settings").at(name).is_number();
  for (const json& trial : trials) {
    const json& value = trial.at("settings").at(name);
    if (all_numbers) {
      setting.x.push_back(value.get<double>());
      continue;
    }
    const std::string label = text_of(value);
    auto found = std::find(setting.labels.begin(), setting.labels.end(), label);
    if (found == setting.labels.end()) found = setting.labels.insert(found, label);
    setting.x.push_back(static_cast<double>(found - setting.labels.begin()));
  }
  if (!all_numbers || setting.x.empty()) return setting;
  const auto [low, high] = std::minmax_element(setting.x.begin(), setting.x.end());
  setting.wants_log_axis = *low > 0 && *high / *low >= 30;
  return setting;
}

SweepContents contents_from(const json& whole) {
  SweepContents contents;
  contents.name = whole.at("name").get<std::string>();
  contents.strategy = whole.at("strategy").get<std::string>();
  contents.metric = whole.at("metric").get<std::string>();
  contents.higher_is_better = whole.at("higher_is_better").get<bool>();
  contents.folds = whole.at("folds").get<std::int64_t>();
  contents.time_budget_reached = whole.at("time_budget_reached").get<bool>();
  for (const json& trial : whole.at("trials")) contents.trials.push_back(trial_from(trial));
  for (const json& setting : whole.at("settings")) {
    const std::string name = setting.at("name").get<std::string>();
    contents.settings.push_back(setting_from(name, whole.at("trials")));
    SweepContents::Setting& drawn = contents.settings.back();
    // What was drawn by its logarithm is shown by it, however narrow the range.
    if (setting.value("kind", "") == "log_uniform" && drawn.labels.empty())
      drawn.is_drawn_by_logarithm = true;
    for (std::size_t i = 0; i < contents.trials.size(); ++i)
      contents.trials[i].values.push_back(text_of(whole.at("trials")[i].at("settings").at(name)));
  }
  for (const json& curve : whole.at("curves"))
    contents.curves.push_back({curve.at("trial").get<std::int64_t>(), numbers(curve.at("epochs")),
                               numbers(curve.at("validation"))});
  for (const SweepContents::Curve& curve : contents.curves)
    if (curve.epochs.size() != curve.losses.size())
      refuse("sweep.json: a curve has {} epochs but {} losses", curve.epochs.size(), curve.losses.size());
  if (!whole.at("winner").is_null()) {
    contents.winner = whole.at("winner").at("trial").get<std::int64_t>();
    contents.winner_run = whole.at("winner").at("run").get<std::string>();
    contents.final_run = whole.at("winner").value("final_run", "");
  }
  return contents;
}

}  // namespace

const SweepContents::Trial* SweepContents::winning() const {
  for (const Trial& trial : trials)
    if (trial.number == winner) return &trial;
  return nullptr;
}

std::vector<std::size_t> SweepContents::ranking() const {
  std::vector<std::size_t> order(trials.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool pruned_a = trials[a].status == "pruned";
    const bool pruned_b = trials[b].status == "pruned";
    if (trials[a].score.has_value() != trials[b].score.has_value()) return trials[a].score.has_value();
    if (!trials[a].score) return false;
    if (pruned_a != pruned_b) return pruned_b;
    return higher_is_better ? *trials[a].score > *trials[b].score : *trials[a].score < *trials[b].score;
  });
  return order;
}

bool has_sweep_contents(const std::filesystem::path& folder) {
  return std::filesystem::exists(sweep_file(folder));
}

SweepContents read_sweep_contents(const std::filesystem::path& folder) {
  const std::filesystem::path file = sweep_file(folder);
  try {
    return contents_from(json::parse(read_file(file, largest_sweep_file)));
  } catch (const json::exception& error) {
    refuse("{} is not the record of a sweep: {}", file.string(), error.what());
  }
}

}  // namespace stoker
