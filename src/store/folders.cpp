#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "device/workers.h"
#include "store/run_lock.h"
#include "store/runs.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Of an entry of a listing this is known without looking at the folder.
bool is_plain_folder(const fs::directory_entry& entry) {
  std::error_code error;
  return !entry.is_symlink(error) && entry.is_directory(error);
}

bool has_record(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(RunPaths{folder}.record(), error));
}

// The lock says it; where there are no locks, the record's word and a look at the process have to do.
bool goes_on(const RunRecord& record, const fs::path& folder) {
  const Held held = lock_of(folder);
  if (held != Held::unknown) return held == Held::yes;
  return record.status == RunStatus::running && record.process && is_alive(*record.process);
}

// As a shell reads it back.
std::string quoted(const std::string& path) {
  const std::string_view harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,@%";
  if (path.find_first_not_of(harmless) == std::string::npos) return path;
  std::string out = "'";
  for (const char letter : path) out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return out + "'";
}

void mark_died(ListedRun& run) {
  run.record.status = RunStatus::failed;
  if (run.to_go_on.empty()) {
    run.record.error = fmt::format(
        "died before its document was written, so there is nothing to resume; remove it with: stoker runs "
        "delete {}",
        stoker::quoted(run.id));
    return;
  }
  run.record.error =
      fmt::format("died: its process ended without recording an outcome; resume with: {}", run.to_go_on);
}

// None without a document, which earlier versions wrote after the record.
std::string command_to_go_on(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(RunPaths{folder}.document(), ignored)) return "";
  const bool is_sweep = fs::exists(folder / "sweep.yaml", ignored);
  return fmt::format("stoker {} --resume {}", is_sweep ? "sweep" : "run", quoted(folder.string()));
}

// The folders under `out` that may hold a record. Hidden ones are not looked at: the cache, and what is being
// deleted.
std::vector<fs::path> visible_folders(const fs::path& out) {
  std::vector<fs::path> folders;
  std::error_code error;
  if (!fs::exists(out, error)) return folders;
  fs::directory_iterator entries(out, error);
  if (error) refuse("cannot list the runs in {}: {}", out.string(), error.message());
  for (const fs::directory_entry& entry : entries) {
    const bool hidden = entry.path().filename().string().starts_with('.');
    if (!hidden && is_plain_folder(entry)) folders.push_back(entry.path());
  }
  return folders;
}

bool is_newer(const ListedRun& a, const ListedRun& b) {
  if (a.record.started != b.record.started) return a.record.started > b.record.started;
  return a.id > b.id;
}

std::string first_names(const std::vector<const ListedRun*>& runs) {
  constexpr std::size_t shown = 5;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(shown, runs.size()); ++i) names.push_back(runs[i]->id);
  if (runs.size() > shown) names.push_back("…");
  return join(names, ", ");
}

[[noreturn]] void refuse_unknown(const fs::path& out, const std::string& id,
                                 const std::vector<ListedRun>& runs,
                                 const std::vector<std::string>& damaged) {
  for (const std::string& message : damaged) {
    if (message.find((out / id / "run.json").string()) != std::string::npos)
      refuse("the run {} cannot be read: {}", id, message);
  }
  if (runs.empty()) refuse("there are no runs in {}", out.string());
  std::vector<std::string> names;
  for (const ListedRun& run : runs) names.push_back(run.id);
  refuse("there is no run {} in {}{}", id, out.string(), did_you_mean(id, names));
}

ListedRun read_run_named(std::string id, const fs::path& folder, Read read) {
  ListedRun run{std::move(id), {folder}, read_record({folder}, read)};
  if (goes_on(run.record, folder)) {
    run.record.status = RunStatus::running;  // also when a finished run is gone through once more
  } else if (run.record.status == RunStatus::running) {
    run.to_go_on = command_to_go_on(folder);
    mark_died(run);
  } else if (run.record.status == RunStatus::interrupted) {
    run.to_go_on = command_to_go_on(folder);
  }
  return run;
}

struct ReadRun {
  std::optional<ListedRun> run;
  std::string error;  // of what cannot be read
};

ReadRun read_if_sound(const fs::path& folder, Read read) {
  try {
    return {read_run_named(folder.filename().string(), folder, read), ""};
  } catch (const Error& error) {
    return {std::nullopt, has_record(folder) ? error.what() : ""};
  }
}

// A record may be damaged where a line about the run does not look.
ListedRun newest_sound(const std::vector<ListedRun>& runs) {
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    if (std::optional<ListedRun> run = read_if_sound(runs[i].paths.folder, Read::whole).run)
      return std::move(*run);
  }
  return read_run(runs.back().paths.folder);
}

}  // namespace

ListedRun read_run(const fs::path& folder) {
  return read_run_named(fs::weakly_canonical(folder).filename().string(), folder, Read::whole);
}

std::vector<ListedRun> list_runs(const fs::path& out, std::vector<std::string>& damaged, Read read) {
  constexpr std::size_t at_a_time = 64;
  const std::vector<fs::path> folders = visible_folders(out);
  std::vector<ReadRun> all(folders.size());
  share_among_cores(static_cast<std::int64_t>((folders.size() + at_a_time - 1) / at_a_time),
                    [&](std::int64_t piece) {
                      const std::size_t first = static_cast<std::size_t>(piece) * at_a_time;
                      const std::size_t end = std::min(first + at_a_time, folders.size());
                      for (std::size_t i = first; i < end; ++i) all[i] = read_if_sound(folders[i], read);
                    });
  std::vector<ListedRun> runs;
  for (ReadRun& each : all) {
    if (each.run) {
      runs.push_back(std::move(*each.run));
    } else if (!each.error.empty()) {
      damaged.push_back(std::move(each.error));
    }
  }
  std::sort(runs.begin(), runs.end(), is_newer);
  std::sort(damaged.begin(), damaged.end());
  return runs;
}

PageOfRuns page_of_runs(const fs::path& out, const RunPage& page) {
  std::vector<std::string> names;
  for (const fs::path& folder : visible_folders(out)) {
    std::string name = folder.filename().string();
    if (name.find(page.contains) != std::string::npos) names.push_back(std::move(name));
  }
  std::ranges::sort(names, std::greater<>());
  PageOfRuns found;
  found.total = names.size();
  auto next =
      page.before.empty() ? names.begin() : std::ranges::upper_bound(names, page.before, std::greater<>());
  for (; next != names.end(); ++next) {
    if (found.runs.size() + found.damaged.size() == page.limit) {
      found.next = *std::prev(next);
      break;
    }
    ReadRun read = read_if_sound(out / *next, Read::in_part);
    if (read.run) {
      found.runs.push_back(std::move(*read.run));
    } else if (!read.error.empty()) {
      found.damaged.push_back(*next);
    }
  }
  return found;
}

ListedRun find_run(const fs::path& out, const std::string& id) {
  if (id.empty()) refuse("name a run: its id, the beginning of its id, or latest");
  std::vector<std::string> damaged;
  const std::vector<ListedRun> runs = list_runs(out, damaged, Read::in_part);
  std::vector<const ListedRun*> matches;
  for (const ListedRun& run : runs) {
    if (run.id == id) return read_run(run.paths.folder);
    if (run.id.starts_with(id)) matches.push_back(&run);
  }
  if (id == "latest" && !runs.empty()) return newest_sound(runs);
  if (matches.empty()) refuse_unknown(out, id, runs, damaged);
  if (matches.size() > 1)
    refuse("{} runs begin with {}: {}; give more of the id", matches.size(), id, first_names(matches));
  return read_run(matches.front()->paths.folder);
}

namespace {

std::optional<RunLock> locked_to_delete(const ListedRun& run) {
  // Read anew: the listing may be old, and the run may have been resumed since.
  const fs::path& folder = run.paths.folder;
  const bool is_running = read_run(folder).record.status == RunStatus::running;
  std::optional<RunLock> lock = is_running ? std::nullopt : RunLock::take(folder);
  if (!lock) {
    refuse("the run {} is still running ({}); stop it first, or delete it anyway with --force", run.id,
           holder_of_lock(folder));
  }
  return lock;
}

}  // namespace

void delete_run(const ListedRun& run, bool force) {
  const fs::path& folder = run.paths.folder;
  const std::string name = folder.filename().string();
  if (!is_plain_folder(fs::directory_entry(folder)) || !has_record(folder) || name.empty() || name == "." ||
      name == "..")
    refuse("{} is not deleted: it is not a run folder (a folder with a run.json)", folder.string());
  // Kept to the end, so that nobody resumes what is being deleted.
  const std::optional<RunLock> lock = force ? std::nullopt : locked_to_delete(run);
  std::error_code error;
  remove_folder(folder, error);
  if (error && fs::exists(folder)) refuse("cannot delete {}: {}", folder.string(), error.message());
  if (error) fail("the run is no longer listed, but could not be removed completely: {}", error.message());
}

}  // namespace stoker
