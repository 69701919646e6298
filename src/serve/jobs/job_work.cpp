#include "serve/jobs/job_work.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "base/files/files.h"
#include "base/files/lines_from_end.h"
#include "base/files/without_sync.h"
#include "base/text/text.h"
#include "store/runs.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// When a file was last written, in seconds since 1970; 0: it is not there.
double written_at(const fs::path& file) {
  struct stat told {};
  if (::stat(file.c_str(), &told) != 0) return 0;
  return static_cast<double>(told.st_mtim.tv_sec) + 1e-9 * static_cast<double>(told.st_mtim.tv_nsec);
}

double newest_checkpoint(const fs::path& folder) {
  double newest = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error))
    if (each->path().filename() == "DONE") newest = std::max(newest, written_at(each->path()));
  return newest;
}

std::string checkpoint_text(const fs::path& run_folder) {
  return fmt::format("{:.3f}", newest_checkpoint(RunPaths{run_folder}.checkpoints()));
}

// Without a line that a killed process cut short: the next process takes it away.
std::uint64_t end_of_events(const fs::path& run_folder) {
  return LinesFromEnd(RunPaths{run_folder}.events()).place();
}

bool is_progress(std::string_view line) {
  if (line.find("\"event\":\"epoch_finished\"") != std::string_view::npos) return true;
  // One that was used again is no progress.
  return line.find("\"event\":\"card_finished\"") != std::string_view::npos &&
         line.find("\"reused\":true") == std::string_view::npos;
}

}  // namespace

JobWork read_work(const JobFolder& job) {
  std::ifstream file(job.work());
  const json told = json::parse(file, nullptr, false);
  JobWork work;
  if (!told.is_object()) return work;
  const auto number = [&](const char* name) {
    const auto found = told.find(name);
    return found != told.end() && found->is_number() ? std::max(0.0, found->get<double>()) : 0.0;
  };
  work.seconds = number("seconds");
  constexpr double most = 1e6;
  work.fruitless = static_cast<std::int64_t>(std::min(number("fruitless"), most));
  work.began = number("began");
  if (const auto reached = told.find("reached"); reached != told.end() && reached->is_string())
    work.reached = *reached;
  return work;
}

// After a loss of power it may be gone; then the time limit counts from there on.
void write_work(const JobFolder& job, const JobWork& work) {
  const WithoutSync of_this_moment;
  write_file(job.work(), json{{"seconds", work.seconds},
                              {"fruitless", work.fruitless},
                              {"began", work.began},
                              {"reached", work.reached}}
                             .dump());
}

std::string reached_by(const fs::path& run_folder) {
  return fmt::format("{} {}", end_of_events(run_folder), checkpoint_text(run_folder));
}

bool came_further(const fs::path& run_folder, const std::string& reached) {
  const std::vector<std::string> parts = split_text(reached, ' ');
  std::uint64_t end = 0;
  const std::string& number = parts.front();
  const bool is_readable =
      parts.size() == 2 &&
      std::from_chars(number.data(), number.data() + number.size(), end).ec == std::errc();
  // An earlier version wrote it otherwise.
  if (!is_readable || parts[1] != checkpoint_text(run_folder)) return true;
  std::ifstream events(RunPaths{run_folder}.events(), std::ios::binary);
  // Another file than it was if it is shorter.
  events.seekg(static_cast<std::streamoff>(end_of_events(run_folder) < end ? 0 : end));
  for (std::string line; std::getline(events, line);)
    if (is_progress(line)) return true;
  return false;
}

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double record_written_at(const fs::path& run_folder) {
  return written_at(RunPaths{run_folder}.record());
}

double last_sign_of(const JobFolder& job, const fs::path& run_folder) {
  const RunPaths run{run_folder};
  return std::max({written_at(job.log()), written_at(job.progress()), written_at(run.events()),
                   written_at(run.record())});
}

}  // namespace stoker::serve
