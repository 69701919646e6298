#include "pipeline/run/run_folder.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/lines_from_end.h"
#include "base/files/unfinished_line.h"
#include "base/files/without_sync.h"
#include "base/hash.h"
#include "base/text/csv_cell.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "config/json_text.h"
#include "data/table/preview_json.h"
#include "device/device.h"
#include "pipeline/training/training_card.h"
#include "pipeline/training/training_report.h"
#include "report/spectral/cube_record.h"
#include "torch/door.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t longest_folder_name = 60;
constexpr std::chrono::milliseconds between_records{200};

// A name that is safe as part of a file's name anywhere.
std::string name_for_folder(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (plain) {
      result += c;
    } else if (!result.empty() && result.back() != '-') {
      result += '-';
    }
  }
  result.resize(std::min(result.size(), longest_folder_name));
  while (!result.empty() && (result.back() == '-' || result.back() == '.')) result.pop_back();
  return result.empty() ? "run" : result;
}

// The number of a second run in one second stands before the name: behind it, one run's whole name would be
// the beginning of another's, and a beginning is enough to name a run.
fs::path committed_under_free_name(AtomicFolder& made, const fs::path& out, const std::string& name,
                                   const std::string& folder_name) {
  if (!folder_name.empty()) {
    if (made.commit_if_free(out / folder_name)) return out / folder_name;
    refuse("there is a folder {} already, and it is no run", (out / folder_name).string());
  }
  const std::string time = time_stamp_for_names();
  for (int number = 1;; ++number) {
    const std::string moment = number == 1 ? time : fmt::format("{}-{}", time, number);
    const fs::path folder = out / fmt::format("{}_{}", moment, name_for_folder(name));
    if (made.commit_if_free(folder)) return folder;
  }
}

RunRecord new_record(const Document& document) {
  RunRecord record;
  record.name = document.name;
  record.started = time_stamp_utc();
  record.stoker_version = STOKER_VERSION;
  record.cpu = cpu_model();
  record.cores = cpu_cores();
  for (const Card& card : document.cards)
    if (card.kind->source_name != nullptr) record.sources.push_back(card.kind->source_name(card.config));
  return record;
}

std::string gpu_model(const std::string& device) {
  for (const DeviceInfo& info : list_devices().devices) {
    if (info.device.is_cuda() && info.device.name() == device) return info.model;
  }
  return "";
}

bool keeps_model(const Card& card) {
  return output_to_keep(*card.kind, Keep::model) != nullptr;
}

// A model that another is made of is not what people want to predict with.
bool is_part_of_another(const Document& document, const Card& part) {
  return std::ranges::any_of(document.cards, [&](const Card& card) {
    return keeps_model(card) && std::ranges::any_of(card.inputs, [&](const Connection& connection) {
             return connection.card == part.id;
           });
  });
}

std::string first_with_model(const Document& document) {
  for (const Card& card : document.cards) {
    if (keeps_model(card) && !is_part_of_another(document, card)) return card.id;
  }
  return "";
}

std::string coefficients_csv(const std::vector<RunRecord::Coefficient>& coefficients) {
  const bool by_class = !coefficients.front().of_class.empty();
  const bool by_members = coefficients.front().deviation.has_value();
  std::string text = by_class ? "class,feature,coefficient" : "feature,coefficient";
  text += by_members ? ",deviation\n" : "\n";
  for (const RunRecord::Coefficient& each : coefficients) {
    if (by_class) text += csv_cell(each.of_class) + ",";
    text += fmt::format("{},{}", csv_cell(each.feature), each.value);
    text += by_members ? fmt::format(",{}\n", each.deviation.value_or(0)) : "\n";
  }
  return text;
}

void clear_half_made_below(const fs::path& folder) {
  clear_half_made(folder);
  std::error_code ignored;
  fs::recursive_directory_iterator each(folder, ignored);
  for (; !ignored && each != fs::recursive_directory_iterator(); each.increment(ignored)) {
    if (each->is_directory(ignored) && !each->is_symlink(ignored)) clear_half_made(each->path());
  }
}

// The last epoch of each card that trains. A million epochs are 300 MB of events, and the last of them are at
// the end: the file is read from there, until all cards were seen.
std::map<std::string, std::int64_t> epochs_told_in(const fs::path& events, const Document& document) {
  std::map<std::string, std::int64_t> told;
  std::error_code none;
  if (!fs::is_regular_file(events, none)) return told;  // a pipe is not read here
  // By the text that events have of a card.
  std::map<std::string, std::string> unseen;
  for (const Card& card : document.cards)
    if (trains(card)) unseen["\"card\":" + json(card.id).dump()] = card.id;
  LinesFromEnd lines(events);
  while (!unseen.empty()) {
    const auto line = lines.next();
    if (!line) break;
    if (line->find("\"epoch_finished\"") == std::string_view::npos) continue;
    const auto found = std::ranges::find_if(
        unseen, [&](const auto& each) { return line->find(each.first) != std::string_view::npos; });
    if (found == unseen.end()) continue;
    const json event = json::parse(*line, nullptr, false);
    if (!event.is_object() || event.value("event", "") != "epoch_finished") continue;
    if (event.value("card", "") != found->second) continue;
    told[found->second] = event.value("epoch", std::int64_t{0});
    unseen.erase(found);
  }
  return told;
}

RunLock lock_to_work_on(const fs::path& folder) {
  std::optional<RunLock> lock = RunLock::take(folder);
  if (!lock)
    refuse("the run {} is still running ({}); stop it first", folder.string(), holder_of_lock(folder));
  return std::move(*lock);
}

}  // namespace

std::unique_ptr<RunFolder> RunFolder::make(const fs::path& out, const Document& document,
                                           const std::vector<TextFile>& more,
                                           const std::string& folder_name) {
  const bool out_was_there = fs::exists(out);
  make_folder(out);
  clear_half_made(out);
  fs::path folder;
  try {
    AtomicFolder made(out / ".run");
    RunLock lock = lock_to_work_on(made.folder());
    RunRecord record = new_record(document);
    for (const auto& [name, text] : more) write_file(made.folder() / name, text);
    write_file(RunPaths{made.folder()}.document(), document.to_yaml());
    write_record({made.folder()}, record);
    folder = committed_under_free_name(made, out, document.name, folder_name);
    std::unique_ptr<RunFolder> run(new RunFolder(folder, std::move(lock), document, std::move(record)));
    run->begin_sitting("run_started", document.name);
    run->made_out_ = !out_was_there;
    return run;
  } catch (const Error&) {
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
    if (!out_was_there) fs::remove(out, ignored);
    throw;
  }
}

std::unique_ptr<RunFolder> RunFolder::reopen(const fs::path& folder, const Document& document) {
  read_record({folder});  // refuses what is no run before anything is written there
  RunLock lock = lock_to_work_on(folder);
  RunRecord earlier = read_record({folder});
  if (document_of_run(folder, *document.types).to_yaml() != document.to_yaml()) {
    refuse(
        "this is not the document that {} was started with; start a new run, or resume it with its own "
        "document: {}",
        folder.string(), RunPaths{folder}.document().string());
  }
  clear_half_made_below(folder);
  write_file(RunPaths{folder}.document(), document.to_yaml());
  std::unique_ptr<RunFolder> run(new RunFolder(folder, std::move(lock), document, std::move(earlier)));
  drop_unfinished_line(run->paths_.events());  // an epoch that was told in part is told again
  run->told_epochs_ = epochs_told_in(run->paths_.events(), document);
  run->begin_sitting("run_resumed", document.name);
  return run;
}

RunFolder::RunFolder(fs::path folder, RunLock lock, const Document& document, RunRecord record)
    : paths_{std::move(folder)}, lock_(std::move(lock)), record_(std::move(record)) {
  was_finished_ = record_.status == RunStatus::finished;
  first_with_model_ = first_with_model(document);
  earlier_seconds_ = record_.seconds;
  cubes_ = std::make_shared<std::vector<CardCubes>>();
}

void RunFolder::begin_sitting(const char* event_name, const std::string& name) {
  record_.status = RunStatus::running;
  record_.error.clear();
  record_.failed_at = {};
  record_.cards.clear();
  record_.trainings.clear();
  record_.results.clear();
  record_.dropped_rows.clear();
  save_record();
  events_.emplace(paths_.events());
  metrics_.emplace(paths_.metrics());
  event(event_name, {{"name", name}});
}

void RunFolder::event(const char* name, const json& details) {
  fail_if_gone();
  nlohmann::ordered_json line{{"time", time_stamp_utc()}, {"event", name}};
  line.update(details);
  events_->append_line(json_without_hidden_values(line.dump(-1, ' ', false, json::error_handler_t::replace)));
}

void RunFolder::save_record() {
  fail_if_gone();
  // The record of a finished run stays as it is until another pass has finished too.
  if (was_finished_ && record_.status != RunStatus::finished) return;
  record_saved_ = std::chrono::steady_clock::now();
  record_is_behind_ = false;
  record_.peak_memory_bytes = std::max(record_.peak_memory_bytes, peak_memory_bytes());
  write_record(paths_, record_);
}

void RunFolder::check_fingerprint(const Card& card, const std::string& fingerprint) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t digits = 16;
  const std::string now = sha256_of_text(fingerprint).substr(0, digits);
  const auto known = record_.fingerprints.find(card.id);
  if (known != record_.fingerprints.end() && known->second != now)
    refuse(
        "the data has changed since the run began, so the run cannot be resumed; restore the data, or start "
        "a new run");
  fingerprints_[card.id] = now;
  if (training_began_) record_fingerprints();
}

void RunFolder::record_fingerprints() {
  for (const auto& [card, fingerprint] : fingerprints_)
    if (record_.fingerprints.emplace(card, fingerprint).second) record_is_behind_ = true;
}

void RunFolder::card_started(const Card& card) {
  const std::lock_guard lock(mutex_);
  event("card_started", {{"card", card.id}, {"type", card.type}});
  if (!trains(card)) return;
  if (card.kind->training(card.config).fit.tensorboard)
    tensorboard_.try_emplace(card.id, paths_.tensorboard() / card.id);
  training_began_ = true;
  record_fingerprints();
  // A training may take hours, or the machine with it.
  if (record_is_behind_) save_record();
}

void RunFolder::card_finished(const Card& card, const CardOutcome& outcome) {
  const std::lock_guard lock(mutex_);
  record_.cards.push_back({card.id, card.type, outcome.reused, outcome.seconds});
  event("card_finished",
        {{"card", card.id}, {"type", card.type}, {"reused", outcome.reused}, {"seconds", outcome.seconds}});
  // A thousand quick cards do not write a thousand records, each longer than the one before.
  record_is_behind_ = true;
  if (std::chrono::steady_clock::now() - record_saved_ > between_records) save_record();
}

void RunFolder::epoch_finished(const std::string& card, const EpochReport& epoch) {
  const std::lock_guard lock(mutex_);
  metrics_->add(card, epoch);
  if (const auto board = tensorboard_.find(card); board != tensorboard_.end()) board->second.add(epoch);
  // What is trained again from a checkpoint on ends in the same numbers, and has been told.
  std::int64_t& told = told_epochs_[card];
  if (epoch_number(epoch) <= told) return;
  told = epoch_number(epoch);
  json details = epoch_event(epoch);
  details["card"] = card;
  event("epoch_finished", details);
}

void RunFolder::gpu_seen(const std::string& card, const GpuReading& reading) {
  const std::lock_guard lock(mutex_);
  event("gpu", {{"card", card},
                {"busy", reading.busy},
                {"watts", reading.watts},
                {"megahertz", reading.megahertz},
                {"celsius", reading.celsius},
                {"used_bytes", reading.used_bytes}});
}

void RunFolder::note(const std::string& card, Severity severity, const std::string& message) {
  const std::lock_guard lock(mutex_);
  const bool is_warning = severity == Severity::warning;
  std::vector<std::string>& said = is_warning ? record_.warnings : record_.notes;
  // A run that is resumed hears the notes of its cards again. What is no card's is about this call alone.
  const bool is_known = std::ranges::find(said, message) != said.end();
  if (!is_known && (is_warning || !card.empty())) {
    if (said.size() < most_messages_of_record) {
      said.push_back(message);
    } else {
      ++(is_warning ? record_.more_warnings : record_.more_notes);
    }
  }
  json details{{"severity", is_warning ? "warning" : "info"}, {"message", message}};
  if (!card.empty()) details["card"] = card;
  event("note", details);
}

std::string RunFolder::model_folder_of(const std::string& card) const {
  return card == first_with_model_ ? paths_.model().filename().string() : "model-" + card;
}

void RunFolder::keep_model(const std::string& card, const Model& model) {
  const std::lock_guard lock(mutex_);
  fail_if_gone();
  save_model(model, paths_.folder / model_folder_of(card));
}

void RunFolder::keep_dropped_rows(const RunRecord::DroppedRows& rows) {
  const std::lock_guard lock(mutex_);
  record_.dropped_rows.push_back(rows);
}

RunRecord::Training RunFolder::keep_training(const std::string& card, const json& report, bool trained_here) {
  const std::lock_guard lock(mutex_);
  fail_if_gone();
  const RunRecord::Training line = training_line(report, card);
  const std::vector<EpochReport> epochs = epochs_of(report);
  metrics_->replace(card, epochs);
  if (const auto board = tensorboard_.find(card); board != tensorboard_.end()) board->second.replace(epochs);
  if (trained_here) record_.torch_version = torch_door::loaded_version();
  if (line.device.starts_with("cuda")) record_.gpu = gpu_model(line.device);
  record_.trainings.push_back(line);
  const std::vector<RunRecord::Coefficient> coefficients = real_coefficients_of(report);
  if (!coefficients.empty())
    write_file(
        card == first_with_model_ ? paths_.coefficients() : paths_.folder / ("coefficients-" + card + ".csv"),
        coefficients_csv(coefficients));
  if (const std::string values = values_csv(epochs); !values.empty()) {
    make_folder(paths_.folder / "values");
    write_file(paths_.folder / "values" / (card + ".csv"), values);
  }
  if (const auto experts = report.find("experts"); experts != report.end()) {
    make_folder(paths_.experts());
    write_file(paths_.experts() / (card + ".json"),
               experts->dump(-1, ' ', false, json::error_handler_t::replace));
  }
  return line;
}

void RunFolder::keep_evaluation(const std::string& card, const Evaluation& evaluation,
                                const std::string& training) {
  const std::lock_guard lock(mutex_);
  fail_if_gone();
  make_folder(paths_.evaluations());
  write_file(paths_.evaluations() / (card + ".json"),
             evaluation.to_json().dump(2, ' ', false, json::error_handler_t::replace));
  record_.results.push_back({card, evaluation.rows, evaluation.metrics, training,
                             training.empty() ? "" : model_folder_of(training)});
}

void RunFolder::keep_cubes(const std::string& card, const json& cubes) {
  fail_if_gone();
  make_folder(cubes_folder(paths_));
  const fs::path file = cubes_folder(paths_) / (card + ".json");
  write_file(file, config::json_text(cubes));
  std::erase_if(*cubes_, [&](const CardCubes& each) { return each.card == card; });
  cubes_->push_back({card, cube_record_as_read(cubes, file)});
}

void RunFolder::keep_result(const RunRecord::Result& result) {
  const std::lock_guard lock(mutex_);
  record_.results.push_back(result);
}

void RunFolder::keep_predictions(const std::string& card, const Table& predictions) {
  fail_if_gone();
  write_table(predictions, paths_.folder / ("predictions-" + card + ".csv"));
}

void RunFolder::keep_preview(const std::string& card, const std::string& output, const Table& table) {
  fail_if_gone();
  json whole = to_json(preview(table));
  // For a look: all values of a large table would take as long as reading it.
  add_distributions(table, whole, std::int64_t{1} << 17);
  keep_report(card, output, whole);
}

void RunFolder::keep_report(const std::string& card, const std::string& output, const json& whole) {
  fail_if_gone();
  const WithoutSync for_a_look_only;
  const fs::path folder = paths_.folder / "previews";
  make_folder(folder);
  write_file(folder / (card + "." + output + ".json"),
             whole.dump(-1, ' ', false, json::error_handler_t::replace));
}

double RunFolder::end(RunStatus status, const std::string& error, double seconds,
                      const RunRecord::FailedAt& failed_at) {
  const std::lock_guard lock(mutex_);
  record_.status = status;
  record_.error = error;
  record_.failed_at = failed_at;
  record_.seconds = earlier_seconds_ + seconds;
  if (status == RunStatus::finished) record_fingerprints();
  save_record();
  json details{{"seconds", record_.seconds}};
  if (!error.empty()) details["error"] = error;
  if (!failed_at.card.empty()) details["card"] = failed_at.card;
  if (!failed_at.setting.empty()) details["setting"] = failed_at.setting;
  event(("run_" + std::string(status_name(status))).c_str(), details);
  return record_.seconds;
}

void RunFolder::fail_if_gone() const {
  if (is_gone())
    fail("the run folder {} was deleted or moved during the run, so the run stops", paths_.folder.string());
}

void RunFolder::forget_warnings(std::string_view beginning) {
  const std::lock_guard lock(mutex_);
  std::erase_if(record_.warnings, [&](const std::string& each) { return each.starts_with(beginning); });
}

// What the run wrote after its folder was gone. Whatever else stands there by now is somebody else's.
void RunFolder::remove_leftovers(std::initializer_list<std::string_view> own_files) {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  const bool is_anothers =
      fs::exists(paths_.folder / "run.lock", ignored) || fs::exists(paths_.record(), ignored);
  if (is_anothers) return;
  for (const std::string_view own : own_files) fs::remove(paths_.folder / own, ignored);
  for (const fs::path& own : {paths_.document(), paths_.events(), paths_.metrics(), paths_.coefficients(),
                              paths_.report(), paths_.profile()})
    fs::remove(own, ignored);
  for (const fs::path& own :
       {paths_.checkpoints(), paths_.model(), paths_.evaluations(), paths_.experts(), cubes_folder(paths_),
        paths_.plots(), paths_.tensorboard(), paths_.folder / "previews", paths_.folder / "values"})
    fs::remove_all(own, ignored);
  fs::remove(paths_.folder, ignored);  // stays if anything else is in it
}

void RunFolder::remove() {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  remove_folder(paths_.folder, ignored);
  if (made_out_) fs::remove(paths_.folder.parent_path(), ignored);  // stays if anything is in it
}

Document document_of_run(const fs::path& run_folder, const CardTypes& types) {
  return load_pipeline(RunPaths{run_folder}.document(), {}, types);
}

}  // namespace stoker
