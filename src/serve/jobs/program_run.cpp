#include "serve/jobs/program_run.h"

#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/process/child_program.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "database/postgres/lost_clients.h"
#include "serve/http/route.h"

namespace stoker::serve {
namespace {

// Each keeps a thread that answers waiting, so some threads are left for other requests; and one client shall
// not keep others from having such work done.
constexpr int most_program_runs = 6;
constexpr int most_program_runs_of_token = 2;
std::mutex turns_mutex;
std::map<std::string, int> turns;  // of the tokens, of those that run
int all_turns = 0;
std::mutex children_mutex;
std::set<pid_t> children;  // with their groups
bool takes_no_more = false;

// Known while it runs, so that it can be ended with the service.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {
    const std::lock_guard lock(children_mutex);
    children.insert(process);
    if (takes_no_more) kill(-process, SIGKILL);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    const std::lock_guard lock(children_mutex);
    children.erase(process_);
  }

 private:
  pid_t process_;
};

class RunTurn {
 public:
  explicit RunTurn(std::string token) : token_(std::move(token)) {
    const std::lock_guard lock(turns_mutex);
    const auto of_token = turns.find(token_);
    if (all_turns >= most_program_runs ||
        (of_token != turns.end() && of_token->second >= most_program_runs_of_token))
      throw HttpError(429, "the service is busy with requests of this kind; try again in a moment");
    ++turns[token_];
    ++all_turns;
  }
  RunTurn(const RunTurn&) = delete;
  RunTurn& operator=(const RunTurn&) = delete;
  ~RunTurn() {
    const std::lock_guard lock(turns_mutex);
    --all_turns;
    if (--turns[token_] == 0) turns.erase(token_);
  }

 private:
  std::string token_;
};

// What it said last, which is the error, without the program's name and its notes before it.
std::string error_in(const std::string& said) {
  std::string last;
  for (const std::string& line : split_text(said, '\n')) {
    if (line.starts_with("note: ") || line.starts_with("warning: ") || line.empty()) continue;
    last += last.empty() ? line : "\n" + line;
  }
  for (const char* start : {"stoker: ", "error: "})
    if (last.starts_with(start)) last.erase(0, std::strlen(start));
  return last.empty() ? "the request cannot be carried out" : printable_lines(last);
}

}  // namespace

void end_program_runs() {
  const std::lock_guard lock(children_mutex);
  takes_no_more = true;
  for (const pid_t each : children) kill(-each, SIGKILL);
}

std::vector<std::string> notes_of(const ProgramRun& run, const NamedPaths& names) {
  std::vector<std::string> notes;
  for (const std::string& line : split_text(printable_lines(run.errors), '\n'))
    for (const std::string_view mark : {"note: ", "warning: "})
      if (line.starts_with(mark))
        notes.push_back(without_options(with_names(line.substr(mark.size()), names)));
  return notes;
}

ProgramRun run_program(const std::vector<std::string>& words, const std::filesystem::path& folder,
                       std::chrono::seconds limit, const NamedPaths& names, const Call* call) {
  const RunTurn turn(call == nullptr ? "" : call->caller.token);
  const auto has_left = [&] { return call != nullptr && call->request.client_has_left(); };
  std::optional<Child> known;
  const ChildLimits limits{now() + limit,
                           nullptr,
                           has_left,
                           {{project_variable, ProjectScope::or_default()},
                            {database::query_seconds_variable, std::to_string(limit.count())}}};
  ChildOutcome child = run_child(words, folder, limits, [&](pid_t process) { known.emplace(process); });
  if (!child.has_ended && has_left()) throw HttpError(499, "the client has left");
  if (!child.has_ended)
    throw HttpError(503, fmt::format("this takes longer than {}, the most that a request may",
                                     counted(static_cast<std::uint64_t>(limit.count()), "second")));
  ProgramRun run{child.exit_code, std::move(child.output), std::move(child.errors)};
  // What it found to be wrong may be what was asked for.
  if (run.exit_code == static_cast<int>(ExitCode::wrong_request) && !run.output.empty()) return run;
  if (run.exit_code == 0) return run;
  const std::string problem = without_options(with_names(error_in(run.errors), names));
  if (run.exit_code == static_cast<int>(ExitCode::wrong_request)) throw HttpError(422, problem);
  fail("{}", problem);
}

}  // namespace stoker::serve
