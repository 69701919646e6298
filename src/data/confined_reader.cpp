#include "data/confined_reader.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/address_rule.h"
#include "base/child_dialogue.h"
#include "base/child_program.h"
#include "base/claim.h"
#include "base/confinement.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hidden_values.h"
#include "base/project_scope.h"
#include "base/text.h"
#include "config/field.h"
#include "config/json_text.h"
#include "data/cubes.h"
#include "data/kept_downloads.h"
#include "data/reader_child.h"
#include "data/source_table.h"
#include "data/standard_input.h"
#include "data/url_secrets.h"
#include "database/role_rights.h"
#include "device/host_memory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const char* data_folder() {
  return std::getenv(confined_readers_variable);
}

// ---- What a child may reach

// Files that a reader looks for next to a file: names that go on where this one has its ending, as NAME.hdr,
// NAME_mask.npy and NAME-wal do, and of images in IDX form the labels.
bool belongs_to(const std::string& name, const std::string& file) {
  constexpr std::string_view idx = "idx";
  if (name.find(idx) != std::string::npos && file.find(idx) != std::string::npos) return true;
  const std::string stem = file.substr(0, file.find('.', 1));
  if (!name.starts_with(stem)) return false;
  return name.size() == stem.size() || std::isalnum(static_cast<unsigned char>(name[stem.size()])) == 0;
}

std::vector<fs::path> with_files_beside(const fs::path& file) {
  std::vector<fs::path> files{file};
  std::error_code ended;
  for (fs::directory_iterator each(file.parent_path(), ended), end; !ended && each != end;
       each.increment(ended))
    if (belongs_to(each->path().filename().string(), file.filename().string())) files.push_back(each->path());
  return files;
}

// A list of cubes names files in its own folder, or among those that the operator has put there. Only what
// clients have uploaded lies side by side with files of others.
std::vector<fs::path> folders_of_list(const fs::path& list) {
  std::vector<fs::path> folders{folder_of_project(data_folder(), ProjectScope::or_default()) / "datasets"};
  if (list.parent_path().filename() != "uploads") folders.push_back(list.parent_path());
  return folders;
}

std::vector<fs::path> files_of(const SourceConfig& config, const fs::path& base) {
  std::vector<fs::path> files;
  for (const std::string& path : {config.path, config.mask_path}) {
    if (path.empty()) continue;
    const fs::path file = fs::absolute(base / path).lexically_normal();
    const auto beside = with_files_beside(file);
    files.insert(files.end(), beside.begin(), beside.end());
    const std::string ending = lower_case(file.extension().string());
    if (config.source == SourceKind::cubes && (ending == ".csv" || ending == ".txt")) {
      const auto folders = folders_of_list(file);
      files.insert(files.end(), folders.begin(), folders.end());
    }
  }
  return files;
}

// ${NAME} of an address.
std::vector<std::string> variables_in(const std::string& address) {
  std::vector<std::string> names;
  for (std::size_t at = address.find("${"); at != std::string::npos; at = address.find("${", at + 2))
    names.push_back(address.substr(at + 2, address.find('}', at) - at - 2));
  return names;
}

std::vector<std::string> environment_of(const SourceConfig& config, const fs::path& scratch) {
  constexpr std::array<const char*, 11> of_everyone{public_addresses_variable,
                                                    database::plain_roles_variable,
                                                    "TZ",
                                                    "LANG",
                                                    "LC_ALL",
                                                    "LD_LIBRARY_PATH",
                                                    "STOKER_THREADS",
                                                    "STOKER_MEMORY_LIMIT",
                                                    "OMP_NUM_THREADS",
                                                    "ASAN_OPTIONS",
                                                    "UBSAN_OPTIONS"};
  std::vector<std::string> names(of_everyone.begin(), of_everyone.end());
  for (const std::string& address : {config.url, config.uri})
    for (const std::string& name : variables_in(address)) {
      names.push_back(name);
      if (const char* value = std::getenv(name.c_str())) hide_value(name, value);
    }
  std::vector<std::string> environment{"TMPDIR=" + scratch.string()};
  // Arrow's allocator would start a thread before the process is confined.
  for (const char* allocator : {"JE_ARROW_MALLOC_CONF", "MALLOC_CONF"})
    environment.push_back(allocator + std::string("=background_thread:false"));
  for (const std::string& name : names)
    if (const char* value = std::getenv(name.c_str())) environment.push_back(name + "=" + value);
  if (config.source != SourceKind::postgres) return environment;
  // PGHOST and its like. The operator's password is not for a server that a client has chosen.
  const bool is_server_of_operator = config.uri.empty() || is_variable_alone(config.uri);
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    if (variable.starts_with("PG") && (is_server_of_operator || !variable.starts_with("PGPASSWORD=")))
      environment.emplace_back(variable);
  }
  return environment;
}

struct Reach {
  std::vector<fs::path> readable = {};
  std::vector<fs::path> writable = {};
  bool may_connect = false;
};

// ---- A child and what it says

std::string crash_text(const std::string& shown, int exit_code) {
  constexpr int first_signal = 128;
  const char* name = exit_code > first_signal ? ::sigabbrev_np(exit_code - first_signal) : nullptr;
  return fmt::format("{} is damaged: its reader crashed{}", shown,
                     name == nullptr ? "" : fmt::format(" (SIG{})", name));
}

[[noreturn]] void throw_as_said(const json& said) {
  const auto text = said.at("problem").get<std::string>();
  if (said.at("is_of_memory")) throw OutOfMemory(text);
  const Cause cause = said.at("is_of_machine") ? Cause::machine : Cause::request;
  throw Error(said.at("code") == static_cast<int>(ExitCode::wrong_request) ? ExitCode::wrong_request
                                                                           : ExitCode::run_failed,
              text, cause);
}

class ReaderProcess {
 public:
  ReaderProcess(std::string shown, const SourceConfig& config, Reach reach);

  // Throws what the child says is wrong, and of a child that has crashed that the file is damaged.
  json ask(const json& request, const StopSignal* stop = nullptr);
  const fs::path& scratch() const { return scratch_.path(); }
  // Ends the child, so that it can no longer change what it has written.
  void end() { dialogue_.end(); }

 private:
  bool fills_disk() const { return folder_bytes(scratch_.path()) > most_bytes_; }
  [[noreturn]] void tell_end(const StopSignal* stop);

  std::string shown_;
  Claim scratch_;
  std::uint64_t most_bytes_ = 0;  // of disk
  ChildDialogue dialogue_;
};

fs::path folder_for_scratch() {
  const fs::path folder = fs::path(data_folder()) / "scratch";
  make_folder(folder);
  clear_abandoned(folder, "");
  return folder;
}

// Half of what is free: one file shall not take the disk from everybody.
std::uint64_t disk_quota(const fs::path& folder) {
  std::error_code unknown;
  const fs::space_info space = fs::space(folder, unknown);
  return unknown ? std::uint64_t{1} << 40U : space.available / 2;
}

ReaderProcess::ReaderProcess(std::string shown, const SourceConfig& config, Reach reach)
    : shown_(std::move(shown)),
      scratch_(Claim::Kind::folder, folder_for_scratch() / "", 0700, "the scratch folder"),
      most_bytes_(disk_quota(scratch_.path())),
      dialogue_({own_program().string(), reader_child_word}, environment_of(config, scratch_.path())) {
  for (const fs::path& each : files_of_the_system()) reach.readable.push_back(each);
  if (reach.may_connect)
    for (const fs::path& each : files_for_connecting()) reach.readable.push_back(each);
  reach.writable.push_back(scratch_.path());
  json readable = json::array();
  for (const fs::path& each : reach.readable) readable.push_back(each.string());
  json writable = json::array();
  for (const fs::path& each : reach.writable) writable.push_back(each.string());
  ask({{"do", "confine"},
       {"scratch", scratch_.path().string()},
       {"readable", std::move(readable)},
       {"writable", std::move(writable)},
       {"may_connect", reach.may_connect},
       {"memory_bytes", free_host_memory()},
       {"file_bytes", most_bytes_}});
}

json ReaderProcess::ask(const json& request, const StopSignal* stop) {
  const auto go_on = [&] { return (stop == nullptr || stop->reason() == StopReason::none) && !fills_disk(); };
  const std::optional<std::string> line = dialogue_.ask(config::json_text(request), go_on);
  if (!line) tell_end(stop);
  json said = json::parse(json_without_hidden_values(*line), nullptr, false);
  try {
    if (said.contains("problem")) throw_as_said(said);
    return said.at("answer");
  } catch (const json::exception&) {
    refuse("'{}': its reader answered something unreadable", shown_);
  }
}

void ReaderProcess::tell_end(const StopSignal* stop) {
  const bool too_much = fills_disk();
  const int exit_code = dialogue_.end();
  if (stop != nullptr && stop->reason() != StopReason::none)
    throw Error(ExitCode::interrupted, fmt::format("{}: reading was interrupted", shown_));
  if (too_much)
    refuse("'{}' takes more than {} of disk while it is read, half of what is free", shown_,
           human_bytes(most_bytes_));
  // The kernel ends who takes the last memory, and so does end_in_order_without_memory().
  if (exit_code == 128 + SIGKILL || exit_code == static_cast<int>(ExitCode::run_failed))
    throw OutOfMemory(fmt::format("'{}' takes more memory to read than there is", shown_));
  refuse("{}", crash_text(shown_, exit_code));
}

// ---- A source

json order_of(const char* wanted, const SourceConfig& config, const fs::path& base) {
  return {{"do", wanted},
          {"config", config::to_json(config::write(config))},
          {"base", fs::absolute(base).string()}};
}

// In a child of its own: it meets the network, and reads nothing of what it fetches.
Downloaded fetched(const SourceConfig& config, const StopSignal* stop) {
  const std::string address = expanded_url(config.url);
  if (const std::optional<Downloaded> kept = KeptDownloads::find(address)) return *kept;
  const auto process =
      std::make_shared<ReaderProcess>(shown_url(config.url), config, Reach{.may_connect = true});
  json order = order_of("fetch", config, "/");
  order["scratch"] = process->scratch().string();
  const json answer = process->ask(order, stop);
  process->end();
  const fs::path file = process->scratch() / fs::path(answer.at("file").get<std::string>()).filename();
  const Downloaded downloaded{file, process};
  KeptDownloads::keep(address, downloaded);
  return downloaded;
}

// A child that has opened a source, and what it found.
struct OpenedInChild {
  ReaderProcess process;
  json facts;

  OpenedInChild(const SourceConfig& config, const fs::path& base, const std::optional<Downloaded>& download,
                const StopSignal* stop)
      : process(shown_name(config), config, reach_of(config, base, download)) {
    json order = order_of("open", config, base);
    if (download) order["fetched"] = download->file.string();
    facts = process.ask(order, stop);
  }

  static std::string shown_name(const SourceConfig& config) {
    return config.source == SourceKind::url ? shown_url(config.url) : source_of(config).name(config);
  }
  static Reach reach_of(const SourceConfig& config, const fs::path& base,
                        const std::optional<Downloaded>& download) {
    if (config.source == SourceKind::postgres) return {.may_connect = true};
    return {.readable = download ? std::vector<fs::path>{download->file} : files_of(config, base)};
  }
};

class ConfinedReader : public SourceReader {
 public:
  ConfinedReader(SourceConfig config, fs::path base, const StopSignal* stop);

  std::string fingerprint() const override;
  const std::string& description() const override { return description_; }
  Table read(const std::vector<std::string>& text_columns, const Notes& notes) const override;
  std::optional<WholeRows> whole_rows(const std::vector<std::string>& text_columns) const override;
  std::optional<Table> first_rows(const std::vector<std::string>& text_columns) const override;
  std::optional<RowCount> row_count() const override;
  std::uintmax_t bytes() const override { return facts_.at("bytes"); }
  bool infers_types() const override { return facts_.at("infers_types"); }
  bool may_lose_digits() const override { return facts_.at("may_lose_digits"); }
  std::vector<std::string> warnings() const override { return facts_.at("warnings"); }
  void leave_rows() const override;

 private:
  // Rows of a database are asked for once, as long as the child that has them lives.
  std::string key() const { return config::json_text(order_of("open", config_, base_)); }
  OpenedInChild& opened() const;
  json asked_for_rows(const char* wanted, const std::vector<std::string>& text_columns) const;
  Table handed_over() const;

  SourceConfig config_;
  fs::path base_;
  std::optional<Downloaded> download_;
  mutable std::recursive_mutex mutex_;
  mutable std::shared_ptr<OpenedInChild> opened_;
  mutable std::string fingerprint_;
  json facts_;
  std::string description_;
};

ConfinedReader::ConfinedReader(SourceConfig config, fs::path base, const StopSignal* stop)
    : config_(std::move(config)), base_(std::move(base)) {
  if (config_.follow_external)
    refuse("follow_external cannot be used here: a file is read where no other file can be reached");
  if (config_.source == SourceKind::url) download_ = fetched(config_, stop);
  opened_ =
      std::static_pointer_cast<OpenedInChild>(std::const_pointer_cast<void>(KeptDownloads::take_rows(key())));
  if (opened_ == nullptr) opened_ = std::make_shared<OpenedInChild>(config_, base_, download_, stop);
  facts_ = opened_->facts;
  description_ = facts_.at("description");
}

OpenedInChild& ConfinedReader::opened() const {
  if (opened_ == nullptr) opened_ = std::make_shared<OpenedInChild>(config_, base_, download_, nullptr);
  return *opened_;
}

std::string ConfinedReader::fingerprint() const {
  const std::lock_guard lock(mutex_);
  if (fingerprint_.empty()) fingerprint_ = opened().process.ask({{"do", "fingerprint"}});
  return fingerprint_;
}

std::optional<RowCount> ConfinedReader::row_count() const {
  if (!facts_.contains("rows")) return std::nullopt;
  RowCount count{.rows = facts_.at("rows")};
  if (facts_.contains("first_test_row")) count.first_test_row = facts_.at("first_test_row");
  return count;
}

void ConfinedReader::leave_rows() const {
  const std::lock_guard lock(mutex_);
  if (opened_ != nullptr) KeptDownloads::keep_rows(key(), opened_);
}

json ConfinedReader::asked_for_rows(const char* wanted, const std::vector<std::string>& text_columns) const {
  return opened().process.ask({{"do", wanted}, {"texts", text_columns}});
}

// The columns are checked and copied while they are read. The numbers of cubes are mapped instead, so nobody
// may be left who could change them.
Table ConfinedReader::handed_over() const {
  const fs::path file = opened().process.scratch() / name_of_rows;
  if (config_.source == SourceKind::cubes) opened().process.end();
  Table table = read_arrow(file);
  if (table.cubes != nullptr) {
    auto cubes = std::make_shared<Cubes>(*table.cubes);
    cubes->values_file.clear();
    cubes->masks_file.clear();
    table.cubes = std::move(cubes);
    opened_ = nullptr;
  }
  std::error_code ignored;
  fs::remove(file, ignored);
  // A server may repeat what it was sent. Names of columns would be in every record of the dataset.
  for (const std::string& name : table.column_names())
    if (without_hidden_values(name) != name)
      refuse("'{}' names a column by the value of a variable, which nobody may see", description_);
  return table;
}

Table ConfinedReader::read(const std::vector<std::string>& text_columns, const Notes& notes) const {
  const std::lock_guard lock(mutex_);
  const json answer = asked_for_rows("read", text_columns);
  for (const json& each : answer.at("notes"))
    notes(each.at(0) ? Severity::warning : Severity::info, each.at(1));
  return handed_over();
}

std::optional<Table> ConfinedReader::first_rows(const std::vector<std::string>& text_columns) const {
  const std::lock_guard lock(mutex_);
  if (!asked_for_rows("first_rows", text_columns).at("has_rows")) return std::nullopt;
  return handed_over();
}

std::optional<WholeRows> ConfinedReader::whole_rows(const std::vector<std::string>& text_columns) const {
  const std::lock_guard lock(mutex_);
  const json answer = asked_for_rows("whole_rows", text_columns);
  if (!answer.at("has_rows")) return std::nullopt;
  const json& told = answer.at("left_out");
  WholeRows rows;
  rows.left_out.count = told.at("count");
  rows.left_out.cut = told.at("cut");
  for (const json& each : told.at("first")) rows.left_out.first.push_back({each.at(0), each.at(1)});
  rows.table = handed_over();
  return rows;
}

// No request may hold a worker of the service for ever.
constexpr double longest_look = 300;  // seconds

// Asks about one file, by a child of its own.
json asked_of_file(const fs::path& file, const std::string& shown, json order,
                   std::vector<fs::path> writable = {}) {
  ReaderProcess process(shown, {}, {{fs::absolute(file)}, std::move(writable), false});
  order["file"] = fs::absolute(file).string();
  order["shown"] = shown;
  StopSignal limit;
  limit.stop_after(longest_look);
  try {
    return process.ask(order, &limit);
  } catch (const Error& error) {
    if (error.code() != ExitCode::interrupted) throw;
    refuse("'{}' takes longer than {} s to read", shown, longest_look);
  }
}

}  // namespace

bool confines_readers() {
  const char* const folder = data_folder();
  return folder != nullptr && *folder != '\0';
}

bool is_read_confined(const SourceConfig& config) {
  return confines_readers() && config.source != SourceKind::sample && config.source != SourceKind::datasets &&
         config.path != standard_input_path;
}

OpenedSource open_confined(const SourceConfig& config, const fs::path& base, const StopSignal* stop) {
  return std::make_unique<ConfinedReader>(config, base, stop);
}

std::string answer_confined(const SourceConfig& config, const fs::path& base, const StopSignal* stop) {
  ReaderProcess process(OpenedInChild::shown_name(config), config,
                        OpenedInChild::reach_of(config, base, std::nullopt));
  return process.ask(order_of("answer", config, base), stop);
}

SourceKind kind_of_file_confined(const fs::path& file) {
  const int kind = asked_of_file(file, file.string(), {{"do", "kind"}});
  if (kind < 0 || kind >= std::ssize(config::names<SourceKind>))
    fail("'{}' is of no known kind", file.string());
  return static_cast<SourceKind>(kind);
}

bool is_cube_archive_confined(const fs::path& archive, const std::string& shown) {
  return asked_of_file(archive, shown, {{"do", "is_cube_archive"}});
}

bool has_arrays_alone_confined(const fs::path& archive, const std::string& shown) {
  return asked_of_file(archive, shown, {{"do", "has_arrays_alone"}});
}

std::string unpack_cubes_confined(const fs::path& archive, const std::string& shown, const fs::path& folder,
                                  std::uint64_t most_bytes) {
  const fs::path target = fs::absolute(folder);
  return asked_of_file(archive, shown,
                       {{"do", "unpack_cubes"}, {"to", target.string()}, {"most_bytes", most_bytes}},
                       {target});
}

}  // namespace stoker
