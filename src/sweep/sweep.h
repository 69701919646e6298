#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/notes.h"
#include "base/process/stop.h"
#include "pipeline/document/sweep_document.h"
#include "pipeline/run/runner.h"
#include "sweep/trials.h"

namespace stoker {

struct SweepOptions {
  std::filesystem::path out = "runs";           // the sweep's folder and the winner's run are made here
  std::optional<std::filesystem::path> resume;  // an earlier sweep folder to go on with
  // The name of the folder in `out`. A sweep of that name that is there already goes on, and the winner's
  // runs have names that begin with it. Empty: one is made up.
  std::string folder_name = {};
  int threads = 0;  // that train at once on the CPU; 0: one per core
};

struct SweepProgress {
  std::int64_t done = 0;  // trainings: of a candidate on a fold, up to the end of a rung
  std::int64_t total = 0;
  std::optional<Trial> best;
  double seconds_left = 0;  // a guess; 0: not known
};

// Who watches a sweep.
class SweepListener {
 public:
  virtual ~SweepListener() = default;
  virtual void sweep_started(const std::filesystem::path& folder, std::int64_t candidates) = 0;
  virtual void advanced(const SweepProgress& progress) = 0;
  virtual void note(Severity severity, const std::string& message) = 0;
  // Who watches the run in which the winner is refitted.
  virtual RunListener& refit(const Trial& winner, const Document& document) = 0;
  // Who watches the run in which it is then trained on all rows.
  virtual RunListener& refit_on_all_rows(const Trial& winner, const Document& document) = 0;
};

struct SweepSummary {
  std::filesystem::path folder;
  std::vector<Trial> trials;  // by number
  std::size_t winner = 0;     // index into trials
  RunSummary run;             // of the winner; its folder is empty where it was not refitted
  // Where the winner was trained on all rows in the end; empty: it was not. No row is left to test it on.
  std::filesystem::path final_run;
  bool budget_reached = false;
  double seconds = 0;
};

// The files of a sweep's folder beside those of a run.
std::filesystem::path sweep_document_file(const std::filesystem::path& folder);  // sweep.yaml
std::filesystem::path sweep_record_file(const std::filesystem::path& folder);    // sweep.json
// The name of the run in which the winner of a named sweep is refitted; that in which it is then trained on
// all rows begins with it. All such runs that there are in a folder, and the sweep of the run's name, or "".
std::string winner_folder_name(const std::string& sweep, std::size_t trial);
std::vector<std::filesystem::path> runs_of_winners(const std::filesystem::path& out,
                                                   const std::string& sweep);
std::string sweep_of_winner(const std::string& run);

// Trains every candidate, writes the table, the pictures and the report, and refits the winner as an ordinary
// run of the document with the winner's values, unless the document says otherwise. A candidate that diverges
// or fails does not end the sweep.
SweepSummary run_sweep(const SweepDocument& sweep, const SweepOptions& options, SweepListener& listener,
                       const StopSignal& stop);

// The document of a sweep folder that is to be resumed.
SweepDocument sweep_of_folder(const std::filesystem::path& folder);

}  // namespace stoker
