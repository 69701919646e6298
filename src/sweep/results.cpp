#include "sweep/results.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t largest_file = std::size_t{4} << 30;

json to_json(const Training& result) {
  json line{{"trial", result.trial},
            {"fold", result.fold},
            {"rung", result.rung},
            {"end", config::name_of(result.end)},
            {"complete", result.complete},
            {"epochs", result.epochs},
            {"seconds", result.seconds},
            {"engine", result.engine},
            {"curve_epochs", result.curve_epochs},
            {"training", result.training},
            {"validation", result.validation}};
  if (!result.reason.empty()) line["reason"] = result.reason;
  if (result.score) line["score"] = *result.score;
  return line;
}

// A loss that is not finite is written as null.
std::vector<double> numbers(const json& list) {
  std::vector<double> values;
  for (const json& each : list) values.push_back(each.is_number() ? each.get<double>() : std::nan(""));
  return values;
}

std::optional<MemberEnd> end_named(const std::string& name) {
  const auto& names = config::names<MemberEnd>;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<MemberEnd>(found - names.begin());
}

// None where the line is not one of ours.
std::optional<Training> training_from(const json& line) {
  const std::optional<MemberEnd> end = end_named(line.at("end").get<std::string>());
  if (!end) return std::nullopt;
  Training training;
  training.trial = line.at("trial").get<std::size_t>();
  training.fold = line.at("fold").get<std::int64_t>();
  training.rung = line.at("rung").get<std::int64_t>();
  training.end = *end;
  training.reason = line.value("reason", "");
  training.complete = line.at("complete").get<bool>();
  if (line.contains("score")) training.score = line.at("score").get<double>();
  training.epochs = line.at("epochs").get<std::int64_t>();
  training.seconds = line.at("seconds").get<double>();
  training.engine = line.at("engine").get<std::string>();
  training.curve_epochs = line.at("curve_epochs").get<std::vector<std::int64_t>>();
  training.training = numbers(line.at("training"));
  training.validation = numbers(line.at("validation"));
  return training;
}

}  // namespace

Results::Results(const std::filesystem::path& path, const std::string& identity) : path_(path.string()) {
  if (std::filesystem::exists(path)) {
    const std::string text = read_file(path, largest_file);
    was_cut_short_ = !text.empty() && text.back() != '\n';
    for (const std::string& line : split_text(text, '\n'))
      if (!line.empty()) read_line(line);
  }
  if (!identity_.empty() && identity_ != identity)
    refuse("{} holds the results of another sweep: sweep.yaml was changed; start a new sweep", path.string());
  file_.emplace(path);
  if (identity_.empty()) append(json{{"sweep", identity}});
}

// Where the disk is full, half a line may be written; the next one must not become part of it.
void Results::append(const json& line) {
  const std::string text =
      json_without_hidden_values(line.dump(-1, ' ', false, json::error_handler_t::replace));
  const bool begins_anew = std::exchange(was_cut_short_, true);
  file_->append_line(begins_anew ? "\n" + text : text);
  was_cut_short_ = false;
}

void Results::read_line(const std::string& line) {
  try {
    const json parsed = json::parse(line);
    if (parsed.contains("sweep")) {
      identity_ = parsed.at("sweep").get<std::string>();
      return;
    }
    if (parsed.contains("data")) {
      data_ = parsed.at("data").get<std::string>();
      return;
    }
    if (parsed.contains("searched_seconds")) {
      searched_seconds_ += parsed.at("searched_seconds").get<double>();
      return;
    }
    if (parsed.contains("winner")) {
      winner_ = {parsed.at("winner").get<std::size_t>(), parsed.at("run").get<std::string>()};
      return;
    }
    if (parsed.contains("final")) {
      final_run_ = {parsed.at("final").get<std::size_t>(), parsed.at("run").get<std::string>()};
      return;
    }
    if (std::optional<Training> training = training_from(parsed))
      results_[{training->trial, training->fold}][training->rung] = std::move(*training);
  } catch (const json::exception&) {
    // Cut short when the process died; what it told of is trained again.
  }
}

void Results::belong_to(const std::string& data) {
  if (!data_.empty() && data_ != data)
    refuse(
        "{} holds scores on other data: the data that the sweep reads has changed since; start a new sweep",
        path_);
  if (data_.empty()) append(json{{"data", data}});
  data_ = data;
}

void Results::add(const Training& result) {
  append(to_json(result));
  results_[{result.trial, result.fold}][result.rung] = result;
}

void Results::add_searched(double seconds) {
  append(json{{"searched_seconds", seconds}});
  searched_seconds_ += seconds;
}

void Results::add_winner(std::size_t trial, const std::filesystem::path& run) {
  append(json{{"winner", trial}, {"run", run.string()}});
  winner_ = {trial, run};
}

void Results::add_final_run(std::size_t trial, const std::filesystem::path& run) {
  append(json{{"final", trial}, {"run", run.string()}});
  final_run_ = {trial, run};
}

const Training* Results::find(std::size_t trial, std::int64_t fold, std::int64_t rung) const {
  const auto found = results_.find({trial, fold});
  if (found == results_.end()) return nullptr;
  const auto behind = found->second.upper_bound(rung);
  return behind == found->second.begin() ? nullptr : &std::prev(behind)->second;
}

std::int64_t Results::count() const {
  std::int64_t count = 0;
  for (const auto& [job, rungs] : results_)
    for (const auto& [rung, result] : rungs) count += result.was_cut_short() ? 0 : 1;
  return count;
}

bool Results::has(std::size_t trial, std::int64_t fold, std::int64_t rung) const {
  const Training* result = find(trial, fold, rung);
  if (result == nullptr || result->was_cut_short()) return false;
  return result->rung == rung || result->complete || !result->has_scored();
}

}  // namespace stoker
