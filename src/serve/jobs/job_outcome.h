#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "report/sweep/sweep_winner.h"
#include "serve/jobs/job_process.h"
#include "store/job_store.h"

namespace stoker::serve {

// What is known of how the process of a job ended.
struct EndOfProcess {
  std::optional<int> status;       // as waitpid has it; none: somebody else was told, or nobody
  bool was_forced = false;         // by the queue
  std::string why_stopped;         // by the queue; empty: it did not ask, or somebody else asked it to
  std::string not_started;         // why there was no process
  std::int64_t starts_failed = 0;  // in a row, this one among them
  std::int64_t fruitless = 0;      // processes in a row that were gone before the run came further
  double began = 0;                // in seconds since 1970; a record from before is not of this process
};

struct JobOutcome {
  JobState state = JobState::failed;
  std::string reason;
  nlohmann::json summary;  // null where nothing came out
};

// Of a job whose processes are all gone. What its run folder says counts before how the process ended: one
// that had written its end was done. One that is gone without a word while nobody watched goes on from its
// checkpoint, up to so many times in a row without coming further.
JobOutcome outcome_of(const JobRecord& job, const EndOfProcess& end, const std::filesystem::path& run_folder,
                      const JobFolder& folder, int most_attempts);

// The winner of a sweep, with its runs by their names.
nlohmann::json winner_view(const SweepWinner& winner);

}  // namespace stoker::serve
