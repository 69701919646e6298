#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "serve/jobs/job_process.h"

namespace stoker::serve {

// What the processes of a job have used and reached, in a file of its folder: its time limit counts over all
// of them, whatever happened to the service meanwhile.
struct JobWork {
  double seconds = 0;          // of processes that have ended
  std::int64_t fruitless = 0;  // processes in a row that were gone before the run came further
  double began = 0;            // of the one that works, in seconds since 1970; 0: none does
  std::string reached = {};    // how far the run was by then
};

// Nothing where the file is not there or damaged.
JobWork read_work(const JobFolder& job);
void write_work(const JobFolder& job, const JobWork& work);

// How far a run is, for came_further().
std::string reached_by(const std::filesystem::path& run_folder);
// Whether an epoch or a card was finished, or a checkpoint written, since then. Reads the events that were
// written since then, up to the first of these.
bool came_further(const std::filesystem::path& run_folder, const std::string& reached);

double seconds_since_1970();
double record_written_at(const std::filesystem::path& run_folder);  // 0: there is none
// When a process that ended unseen was last heard of.
double last_sign_of(const JobFolder& job, const std::filesystem::path& run_folder);

}  // namespace stoker::serve
