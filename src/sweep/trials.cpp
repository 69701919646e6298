#include "sweep/trials.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> status_names{"finished", "pruned",     "diverged",
                                                       "failed",   "time_limit", "not_run"};

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + "\"";
}

// One fold that went wrong is enough: a mean over the rest would flatter the candidate.
TrialStatus status_of(const Training& result) {
  if (result.end == MemberEnd::diverged) return TrialStatus::diverged;
  if (result.end == MemberEnd::failed) return TrialStatus::failed;
  if (result.was_cut_short()) return TrialStatus::time_limit;
  return TrialStatus::finished;
}

void score(Trial& trial) {
  double sum = 0;
  for (const double each : trial.fold_scores) sum += each;
  const double count = static_cast<double>(trial.fold_scores.size());
  const double mean = sum / count;
  double squares = 0;
  for (const double each : trial.fold_scores) squares += (each - mean) * (each - mean);
  trial.score = mean;
  trial.spread = std::sqrt(squares / count);
}

}  // namespace

std::string_view status_name(TrialStatus status) {
  return status_names.at(static_cast<std::size_t>(status));
}

Trial trial_of(std::size_t index, const Candidate& values, std::int64_t folds, std::int64_t rung,
               const Results& results) {
  Trial trial;
  trial.number = index + 1;
  trial.values = values;
  const std::int64_t count = std::max<std::int64_t>(1, folds);
  bool all_there = true;
  for (std::int64_t fold = 0; fold < count; ++fold) {
    const Training* result = results.find(index, fold, rung);
    all_there = all_there && result != nullptr && result->has_scored();
    if (result == nullptr) continue;
    trial.epochs = std::max(trial.epochs, result->epochs);
    trial.seconds += result->seconds;
    if (result->score) trial.fold_scores.push_back(*result->score);
    const TrialStatus status = status_of(*result);
    const bool is_first = trial.status == TrialStatus::not_run || trial.status == TrialStatus::finished;
    if (is_first) trial.status = status;
    if (is_first && !result->reason.empty()) trial.reason = result->reason;
  }
  if (all_there) {
    score(trial);
  } else if (trial.status == TrialStatus::finished) {
    trial.status = TrialStatus::time_limit;  // not all of its folds were begun
  }
  return trial;
}

bool is_better(const Trial& a, const Trial& b, bool higher_is_better) {
  if (a.score.has_value() != b.score.has_value()) return a.score.has_value();
  if (a.score && *a.score != *b.score) return higher_is_better ? *a.score > *b.score : *a.score < *b.score;
  return a.number < b.number;
}

std::string value_text(const config::Value& value) {
  const json as_json = config::to_json(value);
  if (as_json.is_string()) return as_json.get<std::string>();
  if (!as_json.is_array()) return as_json.dump();
  std::string text = "[";
  for (const json& item : as_json) {
    if (text.size() > 1) text += ", ";
    text += item.dump();
  }
  return text + "]";
}

std::string trials_csv(const std::vector<SearchedSetting>& space, const std::vector<Trial>& trials) {
  std::string text = "trial,status,score,spread,epochs,seconds";
  for (const SearchedSetting& setting : space) text += "," + csv_cell(setting.name());
  text += ",reason\n";
  for (const Trial& trial : trials) {
    text += fmt::format("{},{},", trial.number, status_name(trial.status));
    text += trial.score ? fmt::format("{},{},", *trial.score, trial.spread) : ",,";
    text += fmt::format("{},{:.3f}", trial.epochs, trial.seconds);
    for (const config::Value& value : trial.values) text += "," + csv_cell(value_text(value));
    text += "," + csv_cell(trial.reason) + "\n";
  }
  return text;
}

json trials_json(const std::vector<SearchedSetting>& space, const std::vector<Trial>& trials) {
  json list = json::array();
  for (const Trial& trial : trials) {
    json settings = json::object();
    for (std::size_t i = 0; i < space.size(); ++i)
      settings[space[i].name()] = config::to_json(trial.values[i]);
    list.push_back({{"trial", trial.number},
                    {"status", status_name(trial.status)},
                    {"score", trial.score ? json(*trial.score) : json(nullptr)},
                    {"spread", trial.spread},
                    {"fold_scores", trial.fold_scores},
                    {"epochs", trial.epochs},
                    {"seconds", trial.seconds},
                    {"reason", trial.reason},
                    {"settings", std::move(settings)}});
  }
  return list;
}

}  // namespace stoker
