#include "data/confined/reader_process.h"

#include <csignal>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/process/child_program.h"
#include "base/process/confinement.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "config/json_text.h"
#include "data/confined/reader_child.h"
#include "data/format/hdf5_object.h"
#include "device/host_memory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int first_signal = 128;  // in the exit codes of processes that a signal has ended

std::string crash_text(const std::string& shown, int exit_code) {
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

fs::path folder_for_scratch() {
  const fs::path folder = fs::path(folder_of_confined_readers()) / "scratch";
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

}  // namespace

ReaderProcess::ReaderProcess(std::string shown, const SourceConfig& config, Reach reach)
    : shown_(std::move(shown)),
      scratch_(Claim::Kind::folder, folder_for_scratch() / "", 0700, "the scratch folder"),
      most_bytes_(disk_quota(scratch_.path())),
      dialogue_({own_program().string(), reader_child_word}, environment_of_reader(config, scratch_.path())) {
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
  if (exit_code == first_signal + SIGKILL || exit_code == static_cast<int>(ExitCode::run_failed))
    throw OutOfMemory(fmt::format("'{}' takes more memory to read than there is", shown_));
  if (exit_code == first_signal + SIGXCPU) refuse("{}", hdf5::text_of_endless(fmt::format("'{}'", shown_)));
  refuse("{}", crash_text(shown_, exit_code));
}

}  // namespace stoker
