#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "config/value.h"
#include "store/record/record_line.h"
#include "store/record/record_part.h"
#include "store/record/stage_record.h"
#include "store/record/walk_forward_record.h"
#include "store/runs.h"
#include "train/loop/progress.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr int newest_format = 1;
constexpr std::size_t largest_file = 8U << 20;

constexpr std::array<std::string_view, 4> status_names{"running", "finished", "failed", "interrupted"};

bool nests_deeper(std::string_view text, int most) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > most) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

// A list of runs reads thousands of these. What is small and flat cannot exhaust the reader, so that only the
// rest, and what is no JSON, takes the way that counts every value and knows its line.
json parsed(const std::string& text, const std::string& name) {
  const config::Bounds bounds{.bytes = largest_file, .values = 500'000, .depth = 16};
  if (text.size() <= bounds.values && !nests_deeper(text, bounds.depth)) {
    json value = json::parse(text, nullptr, false);
    if (!value.is_discarded()) return value;
  }
  return config::to_json(config::parse_json(text, name, bounds));
}

RunStatus status_of(const std::string& text, const RecordPart::Place& place) {
  for (std::size_t i = 0; i < status_names.size(); ++i) {
    if (status_names[i] == text) return static_cast<RunStatus>(i);
  }
  refuse("{}: '{}' is not a status; it must be running, finished, failed or interrupted", place(),
         text.substr(0, 40));
}

json process_json(const ProcessIdentity& process) {
  return {{"id", process.id},
          {"start", process.start},
          {"host", process.host},
          {"boot", process.boot},
          {"process_space", process.process_space}};
}

ProcessIdentity process_from(const RecordPart& part) {
  return {part.whole("id", 1, 1), part.whole("start", -1, -1), part.text("host"), part.text("boot"),
          part.text("process_space")};
}

using NamedValues = std::vector<std::pair<std::string, double>>;

// A list, because an object would not keep the order in which people want the metrics.
json metrics_json(const NamedValues& values) {
  json metrics = json::array();
  for (const auto& [name, value] : values) metrics.push_back({{"name", name}, {"value", value}});
  return metrics;
}

NamedValues metrics_from(const RecordPart& part) {
  NamedValues metrics;
  part.each("metrics", [&](const json& entry, const RecordPart::Place& place) {
    const RecordPart metric(entry, place);
    metrics.emplace_back(metric.text("name"), metric.number("value"));
  });
  return metrics;
}

json coefficients_json(const std::vector<RunRecord::Coefficient>& coefficients) {
  json list = json::array();
  for (const RunRecord::Coefficient& each : coefficients) {
    list.push_back({{"feature", each.feature}, {"coefficient", each.value}});
    if (!each.of_class.empty()) list.back()["class"] = each.of_class;
    if (each.deviation) list.back()["deviation"] = *each.deviation;
  }
  return list;
}

json chosen_json(const std::vector<ChosenNumber>& chosen) {
  json list = json::array();
  for (const ChosenNumber& each : chosen) {
    list.push_back({{"name", each.name}, {"value", each.value}});
    if (each.metric.empty()) continue;
    list.back().update(
        {{"metric", each.metric}, {"before", each.before}, {"after", each.after}, {"rows", each.rows}});
  }
  return list;
}

json result_json(const RunRecord::Result& result) {
  json line{{"card", result.card}, {"rows", result.rows}, {"metrics", metrics_json(result.metrics)}};
  if (!result.training.empty()) line["training"] = result.training;
  if (!result.model.empty()) line["model"] = result.model;
  return line;
}

RunRecord::Result result_from(const RecordPart& part) {
  RunRecord::Result result;
  result.card = part.text("card");
  result.rows = part.whole("rows", 0, 0);
  result.metrics = metrics_from(part);
  result.training = part.text("training");
  result.model = part.text("model");
  return result;
}

json dropped_rows_json(const std::vector<RunRecord::DroppedRows>& all) {
  json list = json::array();
  for (const RunRecord::DroppedRows& each : all)
    list.push_back({{"card", each.card}, {"dropped", each.dropped}, {"received", each.received}});
  return list;
}

RunRecord::Training::Steps steps_from(const RecordPart& part) {
  RunRecord::Training::Steps steps;
  const auto bytes = [](const RecordPart& from, const char* key) {
    return static_cast<std::uint64_t>(from.whole(key, 0, 0));
  };
  steps.precision = part.text("precision");
  steps.batch_size = part.whole("batch_size", 0, 0);
  if (part.has("learning_rate")) steps.learning_rate = part.number("learning_rate");
  part.each("adjustments", [&](const json& entry, const RecordPart::Place& place) {
    steps.adjustments.push_back(RecordPart::text_of(entry, place));
  });
  if (part.has("computing_share")) steps.computing_share = part.number("computing_share");
  if (part.has("waiting_share")) steps.waiting_share = part.number("waiting_share");
  if (part.has("gpu")) {
    const RecordPart gpu(part.at("gpu"), [&] { return part.place_of("gpu"); });
    steps.gpu.readings = gpu.whole("readings", 0, 0);
    steps.gpu.busy = gpu.number("busy");
    steps.gpu.watts = gpu.number("watts");
    steps.gpu.megahertz = gpu.number("megahertz");
    steps.gpu.most_bytes = bytes(gpu, "most_bytes");
  }
  if (!part.has("device_memory")) return steps;
  const RecordPart memory(part.at("device_memory"), [&] { return part.place_of("device_memory"); });
  steps.allocated_bytes = bytes(memory, "allocated");
  steps.reserved_bytes = bytes(memory, "reserved");
  steps.peak_bytes = bytes(memory, "peak");
  return steps;
}

void add_steps(const RunRecord::Training::Steps& steps, json& line) {
  if (steps.batch_size == 0) return;
  line["precision"] = steps.precision;
  line["batch_size"] = steps.batch_size;
  line["learning_rate"] = steps.learning_rate;
  if (!steps.adjustments.empty()) line["adjustments"] = steps.adjustments;
  if (steps.peak_bytes > 0)
    line["device_memory"] = {
        {"allocated", steps.allocated_bytes}, {"reserved", steps.reserved_bytes}, {"peak", steps.peak_bytes}};
  if (steps.computing_share > 0) line["computing_share"] = steps.computing_share;
  if (steps.waiting_share > 0) line["waiting_share"] = steps.waiting_share;
  if (steps.gpu.readings > 0)
    line["gpu"] = {{"readings", steps.gpu.readings},
                   {"busy", steps.gpu.busy},
                   {"watts", steps.gpu.watts},
                   {"megahertz", steps.gpu.megahertz},
                   {"most_bytes", steps.gpu.most_bytes}};
}

RunRecord::Training training_from(const RecordPart& part) {
  RunRecord::Training training;
  training.card = part.text("card");
  training.model_type = part.text("model_type");
  training.engine = part.text("engine");
  training.device = part.text("device");
  training.placement = part.text("placement");
  training.end = part.text("end");
  training.epochs = part.whole("epochs", 0, 0);
  training.best_epoch = part.whole("best_epoch", 1, 0);
  training.steps = part.whole("steps", 0, 0);
  training.parameters = part.whole("parameters", 0, 0);
  training.seconds = part.seconds("seconds");
  if (part.has("alpha")) training.alpha = part.number("alpha");
  part.each("alphas", [&](const json& entry, const RecordPart::Place& place) {
    training.alphas.push_back(RecordPart::number_of(entry, place));
  });
  training.members = part.whole("members", 0, 0);
  if (part.has("checkpoints")) {
    const RecordPart cost(part.at("checkpoints"), [&] { return part.place_of("checkpoints"); });
    training.checkpoints = {cost.whole("taken", 0, 0), cost.seconds("seconds"), cost.seconds("last_seconds")};
  }
  if (part.has("out_of_fold"))
    training.out_of_fold =
        result_from(RecordPart(part.at("out_of_fold"), [&] { return part.place_of("out_of_fold"); }));
  if (part.has("walk_forward"))
    training.walk_forward =
        walk_forward_from(RecordPart(part.at("walk_forward"), [&] { return part.place_of("walk_forward"); }));
  if (part.has("experts"))
    training.experts =
        expert_use_from(RecordPart(part.at("experts"), [&] { return part.place_of("experts"); }));
  training.stages = stages_from(part);
  training.target = part.text("target");
  training.task = part.text("task");
  training.rows = part.whole("rows", 0, 0);
  training.features = part.whole("features", 0, 0);
  training.metrics = metrics_from(part);
  training.measured_rows = part.whole("measured_rows", 0, 0);
  training.steps_taken = steps_from(part);
  part.each("chosen", [&](const json& entry, const RecordPart::Place& place) {
    const RecordPart line(entry, place);
    training.chosen.push_back({line.text("name"), line.number("value"), line.text("metric"),
                               line.number("before"), line.number("after"), line.whole("rows", 0, 0)});
  });
  part.each("coefficients", [&](const json& entry, const RecordPart::Place& place) {
    const RecordPart line(entry, place);
    training.coefficients.push_back({line.text("feature"), line.text("class"), line.number("coefficient")});
    if (line.has("deviation")) training.coefficients.back().deviation = line.number("deviation");
  });
  return training;
}

void read_lists(const RecordPart& part, RunRecord& record) {
  part.each("sources", [&](const json& entry, const RecordPart::Place& place) {
    record.sources.push_back(RecordPart::text_of(entry, place));
  });
  if (part.has("fingerprints")) {
    const RecordPart map(part.at("fingerprints"), [&] { return part.place_of("fingerprints"); });
    for (const auto& [card, value] : part.at("fingerprints").items())
      record.fingerprints[card] = map.text(card.c_str());
  }
  part.each("cards", [&](const json& entry, const RecordPart::Place& place) {
    const RecordPart card(entry, place);
    record.cards.push_back(
        {card.text("id"), card.text("type"), card.flag("reused"), card.seconds("seconds")});
  });
  part.each("trainings", [&](const json& entry, const RecordPart::Place& place) {
    record.trainings.push_back(training_from(RecordPart(entry, place)));
  });
  part.each("results", [&](const json& entry, const RecordPart::Place& place) {
    record.results.push_back(result_from(RecordPart(entry, place)));
  });
  part.each("dropped_rows", [&](const json& entry, const RecordPart::Place& place) {
    const RecordPart line(entry, place);
    record.dropped_rows.push_back(
        {line.text("card"), line.whole("dropped", 0, 0), line.whole("received", 0, 0)});
  });
  part.each("warnings", [&](const json& entry, const RecordPart::Place& place) {
    record.warnings.push_back(RecordPart::text_of(entry, place));
  });
  part.each("notes", [&](const json& entry, const RecordPart::Place& place) {
    record.notes.push_back(RecordPart::text_of(entry, place));
  });
}

// At a whole character.
void cut(std::string& text) {
  constexpr std::size_t longest_message = 4'096;
  if (text.size() <= longest_message) return;
  std::size_t end = longest_message;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text = text.substr(0, end) + " …";
}

// JSON writes some characters as six.
std::size_t written_size(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace).size();
}

// `more` were said beside those in the list.
void cut(std::vector<std::string>& list, std::size_t more) {
  constexpr std::size_t most_bytes = largest_file / 8;
  const std::size_t said = list.size() + more;
  list.resize(std::min(list.size(), most_messages_of_record));
  std::for_each(list.begin(), list.end(), [](std::string& text) { cut(text); });
  std::size_t bytes = 0;
  const auto too_many = std::find_if(list.begin(), list.end(), [&](const std::string& text) {
    return (bytes += written_size(text)) > most_bytes;
  });
  list.erase(too_many, list.end());
  if (said > list.size())
    list.push_back(fmt::format("and {} more, listed in events.jsonl", said - list.size()));
}

// What is written can be read again: a run that warns at every row must not lose its record to its warnings.
void hold_to_bounds(RunRecord& record) {
  cut(record.warnings, record.more_warnings);
  cut(record.notes, record.more_notes);
  cut(record.error);
  // A document may train a thousand linear models; coefficients.csv has all of each.
  std::size_t room = 2'000;
  for (RunRecord::Training& training : record.trainings) {
    if (training.coefficients.size() > room) training.coefficients.resize(room);
    room -= training.coefficients.size();
  }
}

}  // namespace

std::string_view status_name(RunStatus status) {
  return status_names.at(static_cast<std::size_t>(status));
}

json RunRecord::Training::to_json() const {
  json line{{"card", card},           {"model_type", model_type},
            {"engine", engine},       {"device", device},
            {"placement", placement}, {"end", end},
            {"epochs", epochs},       {"best_epoch", best_epoch > 0 ? json(best_epoch) : json()},
            {"steps", steps},         {"parameters", parameters},
            {"seconds", seconds}};
  add_steps(steps_taken, line);
  if (alpha) line["alpha"] = *alpha;
  if (!alphas.empty()) line["alphas"] = alphas;
  if (members > 0) line["members"] = members;
  if (checkpoints.taken > 0 || checkpoints.last_seconds > 0)
    line["checkpoints"] = {{"taken", checkpoints.taken},
                           {"seconds", checkpoints.seconds},
                           {"last_seconds", checkpoints.last_seconds}};
  if (!out_of_fold.metrics.empty()) line["out_of_fold"] = result_json(out_of_fold);
  if (experts) line["experts"] = stoker::to_json(*experts);
  if (!walk_forward.folds.empty()) line["walk_forward"] = stoker::to_json(walk_forward);
  if (!stages.empty()) line["stages"] = stoker::to_json(stages);
  if (!target.empty()) {
    line["target"] = target;
    line["task"] = task;
    line["rows"] = rows;
    line["features"] = features;
  }
  if (!metrics.empty()) {
    line["metrics"] = metrics_json(metrics);
    line["measured_rows"] = measured_rows;
  }
  if (!chosen.empty()) line["chosen"] = chosen_json(chosen);
  if (!coefficients.empty()) line["coefficients"] = coefficients_json(coefficients);
  return line;
}

std::string RunRecord::Training::alphas_text() const {
  std::vector<double> sorted = alphas;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty()) return "";
  if (sorted.front() == sorted.back()) return fmt::format("{:.6g} in every member", sorted.front());
  return fmt::format("{:.6g} to {:.6g}, {:.6g} in the middle of the members", sorted.front(), sorted.back(),
                     sorted[sorted.size() / 2]);
}

std::string RunRecord::DroppedRows::text() const {
  return fmt::format("{} of {} (card {})", human_count(static_cast<std::uint64_t>(dropped)),
                     counted(static_cast<std::uint64_t>(received), "row"), card);
}

std::string RunRecord::Training::end_text() const {
  if (end == config::name_of(TrainingEnd::stopped_early)) return "stopped early";
  if (end == config::name_of(TrainingEnd::time_limit)) return "time limit reached";
  return end;
}

json RunRecord::to_json() const {
  json card_lines = json::array();
  for (const CardLine& card : cards)
    card_lines.push_back(
        {{"id", card.id}, {"type", card.type}, {"reused", card.reused}, {"seconds", card.seconds}});
  json training_list = json::array();
  for (const Training& training : trainings) training_list.push_back(training.to_json());
  json result_list = json::array();
  for (const Result& result : results) result_list.push_back(result_json(result));
  json record{{"format", format},
              {"name", name},
              {"status", status_name(status)},
              {"process", process ? process_json(*process) : json()},
              {"error", error},
              {"started", started},
              {"seconds", seconds},
              {"peak_memory_bytes", peak_memory_bytes},
              {"stoker_version", stoker_version},
              {"torch_version", torch_version},
              {"cpu", cpu},
              {"cores", cores},
              {"gpu", gpu},
              {"sources", sources},
              {"cards", std::move(card_lines)},
              {"trainings", std::move(training_list)},
              {"results", std::move(result_list)},
              {"warnings", warnings},
              {"notes", notes}};
  if (!dropped_rows.empty()) record["dropped_rows"] = dropped_rows_json(dropped_rows);
  if (!fingerprints.empty()) record["fingerprints"] = fingerprints;
  if (!failed_at.card.empty()) record["failed_card"] = failed_at.card;
  if (!failed_at.setting.empty()) record["failed_setting"] = failed_at.setting;
  return record;
}

RunRecord RunRecord::from_json(const json& json, const std::string& name) {
  const RecordPart part(json, [&] { return name; });
  RunRecord record;
  record.format = static_cast<int>(std::min<std::int64_t>(part.whole("format", 0, 0), INT32_MAX));
  if (record.format < 1) refuse("{} is not the record of a run: it has no format", name);
  if (record.format > newest_format)
    refuse("{} has format {}, but this version of Stoker reads up to {}; a newer one wrote it", name,
           record.format, newest_format);
  record.name = part.text("name");
  record.status = status_of(part.text("status"), [&] { return part.place_of("status"); });
  if (part.has("process"))
    record.process = process_from(RecordPart(part.at("process"), [&] { return part.place_of("process"); }));
  record.error = part.text("error");
  record.failed_at = {part.text("failed_card"), part.text("failed_setting")};
  record.started = part.text("started");
  record.seconds = part.seconds("seconds");
  record.peak_memory_bytes = static_cast<std::uint64_t>(part.whole("peak_memory_bytes", 0, 0));
  record.stoker_version = part.text("stoker_version");
  record.torch_version = part.text("torch_version");
  record.cpu = part.text("cpu");
  record.cores = static_cast<int>(std::min<std::int64_t>(part.whole("cores", 0, 0), INT32_MAX));
  record.gpu = part.text("gpu");
  read_lists(part, record);
  return record;
}

void write_record(const RunPaths& paths, const RunRecord& record) {
  RunRecord stamped = record;
  hold_to_bounds(stamped);
  stamped.process.reset();
  if (record.status == RunStatus::running) stamped.process = this_process();
  // A message may quote a file that is not UTF-8; the record must be.
  const std::string text = stamped.to_json().dump(2, ' ', false, json::error_handler_t::replace);
  write_file(paths.record(), json_without_hidden_values(text) + "\n");
}

RunRecord read_record(const RunPaths& paths, Read read) {
  const std::filesystem::path file = paths.record();
  const std::string& name = file.native();
  std::error_code error;
  // Anything else, a named pipe say, could keep the reader waiting for ever.
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(file, error)))
    refuse("{} is not a run folder: it has no run.json", paths.folder.string());
  const std::string text = read_file(file, largest_file);
  if (read == Read::in_part) {
    if (auto line = line_of_record(text)) return std::move(*line);
  }
  return RunRecord::from_json(parsed(text, name), name);
}

}  // namespace stoker
