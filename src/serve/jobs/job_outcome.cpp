#include "serve/jobs/job_outcome.h"

#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/text/text.h"
#include "report/sweep/sweep_contents.h"
#include "serve/access/client_words.h"
#include "serve/jobs/job_work.h"
#include "store/runs.h"

namespace stoker::serve {
namespace {

constexpr std::size_t lines_of_reason = 5;

std::string end_of_process(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGKILL)
      return "its process was killed (SIGKILL), most likely because the machine had no memory left";
    return fmt::format("its process crashed: {}", strsignal(signal));
  }
  constexpr int not_found = 127;  // of a loader that lacks a library, for one
  if (WEXITSTATUS(status) == not_found) return "its program could not be started (exit code 127)";
  return fmt::format("its process ended with exit code {}", WEXITSTATUS(status));
}

// Those by which people and machines that go down end what runs; it may go on later.
bool is_request_to_end(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

// By itself, not because somebody wanted it to.
bool went_wrong(const EndOfProcess& end) {
  if (!end.status || end.was_forced) return false;
  if (WIFSIGNALED(*end.status)) return !is_request_to_end(WTERMSIG(*end.status));
  const int code = WEXITSTATUS(*end.status);
  return code != 0 && code != static_cast<int>(ExitCode::interrupted);
}

std::string with_last_lines(const std::string& what, const JobFolder& folder) {
  const std::string said = last_lines(folder.log(), lines_of_reason);
  return said.empty() ? what : what + "; its last words:\n" + said;
}

// The error that the program ended with, which comes last; else all that is known.
std::string reason_of_end(int status, const JobFolder& folder) {
  const std::string said = last_lines(folder.log(), lines_of_reason);
  constexpr std::string_view mark = "stoker: ";
  const std::size_t found = said.starts_with(mark) ? 0 : said.find("\nstoker: ") + 1;  // npos + 1 is 0
  const bool has_error = WIFEXITED(status) && said.substr(found).starts_with(mark);
  if (!has_error) return with_last_lines(end_of_process(status), folder);
  std::string error = said.substr(found + mark.size());
  while (error.ends_with('\n')) error.pop_back();
  return without_options(error);
}

nlohmann::json summary_of(const RunRecord& record) {
  nlohmann::json summary{{"seconds", record.seconds},
                         {"results", nlohmann::json::array()},
                         {"trainings", nlohmann::json::array()},
                         {"warnings", record.warnings}};
  for (const RunRecord::Result& result : record.results) {
    nlohmann::json metrics = nlohmann::json::object();
    for (const auto& [name, value] : result.metrics) metrics[name] = number_to_json(value);
    summary["results"].push_back(
        {{"card", result.card}, {"rows", result.rows}, {"metrics", std::move(metrics)}});
    if (!result.model.empty()) summary["results"].back()["model"] = result.model;
  }
  for (const RunRecord::DroppedRows& rows : record.dropped_rows)
    summary["dropped_rows"].push_back(
        {{"card", rows.card}, {"dropped", rows.dropped}, {"received", rows.received}});
  for (const RunRecord::Training& training : record.trainings)
    summary["trainings"].push_back({{"card", training.card},
                                    {"model_type", training.model_type},
                                    {"engine", training.engine},
                                    {"device", training.device},
                                    {"placement", training.placement},
                                    {"epochs", training.epochs},
                                    {"best_epoch", training.best_epoch},
                                    {"parameters", training.parameters},
                                    {"seconds", training.seconds},
                                    {"end", training.end}});
  return summary;
}

// What was searched and found. All trials are many; they are read from the run folder by who asks.
nlohmann::json summary_of_sweep(const std::filesystem::path& run_folder) {
  nlohmann::json summary = nlohmann::json::object();
  try {
    if (!has_sweep_contents(run_folder)) return summary;
    const SweepContents sweep = read_sweep_contents(run_folder);
    summary = {{"metric", sweep.metric},
               {"strategy", sweep.strategy},
               {"trials", sweep.trials.size()},
               {"time_budget_reached", sweep.time_budget_reached}};
    if (const auto winner = winner_of({run_folder})) summary["winner"] = winner_view(*winner);
  } catch (const Error& error) {
    summary["unread"] = error.what();
  }
  return summary;
}

std::optional<RunRecord> record_in(const std::filesystem::path& run_folder) {
  try {
    if (!exists(RunPaths{run_folder}.record())) return std::nullopt;
    return read_record({run_folder});
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The clock of files is a little behind.
bool is_written_since(double moment, const std::filesystem::path& run_folder) {
  constexpr double slack = 0.1;
  return record_written_at(run_folder) >= moment - slack;
}

JobOutcome of_one_not_started(const JobRecord& job, const EndOfProcess& end, int most_attempts) {
  if (job.asked == JobWish::pause) return {JobState::paused, "", {}};
  if (end.starts_failed >= most_attempts)
    return {JobState::failed, "it could not be started: " + end.not_started, {}};
  return {JobState::queued, "", {}};
}

}  // namespace

nlohmann::json winner_view(const SweepWinner& winner) {
  nlohmann::json view = winner_json(winner);
  for (const char* each : {"run", "final_run"})
    if (view.contains(each))
      view[each] = std::filesystem::path(view[each].get<std::string>()).filename().string();
  return view;
}

JobOutcome outcome_of(const JobRecord& job, const EndOfProcess& end, const std::filesystem::path& run_folder,
                      const JobFolder& folder, int most_attempts) {
  const std::optional<RunRecord> record = record_in(run_folder);
  if (record && record->status == RunStatus::finished) {
    nlohmann::json summary = summary_of(*record);
    if (job.kind == JobKind::sweep) summary.update(summary_of_sweep(run_folder));
    return {JobState::completed, "", std::move(summary)};
  }
  if (job.asked == JobWish::cancel) return {JobState::cancelled, "", {}};
  if (!end.not_started.empty()) return of_one_not_started(job, end, most_attempts);
  if (!end.why_stopped.empty()) return {JobState::failed, with_last_lines(end.why_stopped, folder), {}};
  if (record && record->status == RunStatus::failed && is_written_since(end.began, run_folder))
    return {JobState::failed, without_options(record->error), {}};
  if (went_wrong(end)) return {JobState::failed, reason_of_end(*end.status, folder), {}};
  if (job.asked == JobWish::pause)
    return {JobState::paused,
            end.was_forced ? "it did not stop by itself, and goes on from its last checkpoint" : "",
            {}};
  if (end.fruitless >= most_attempts)
    return {JobState::failed,
            with_last_lines(fmt::format("its process was gone without a word {} times in a row, and the run "
                                        "came no further",
                                        end.fruitless),
                            folder),
            {}};
  return {JobState::queued, "", {}};
}

}  // namespace stoker::serve
