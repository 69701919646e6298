#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/card/card_outcome.h"
#include "pipeline/document/document.h"
#include "pipeline/run/profile.h"
#include "pipeline/training/kernels_ahead.h"
#include "predict/measure/evaluation.h"
#include "store/runs.h"
#include "train/loop/progress.h"

// What goes into a run, what comes out of it, and who watches it.
namespace stoker {

struct RunOptions {
  std::filesystem::path out = "runs";           // run folders and the cache live here
  std::optional<std::filesystem::path> resume;  // an earlier run folder to go on with
  // The name of the folder in `out`. A run of that name that is there already goes on. Empty: one is made up.
  std::string folder_name;
  std::string only;  // run this card and what it needs
  bool use_cache = true;
  // A run that was refused before anything was trained leaves its folder all the same, for whoever watches to
  // see what its first cards made.
  bool keep_refused = false;
  bool profile = false;                                // profile.json says where the time went
  std::uint64_t cache_bytes = std::uint64_t{4} << 30;  // what the cache may hold when the run is over
  // A card that does not stop at its time limit is waited for so long, then the record of its end.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
  KernelsAhead::Compile compile_ahead;  // what is done for a training to come; empty: its kernel is compiled
};

struct RunSummary {
  std::filesystem::path folder;
  std::filesystem::path report;  // report.html
  std::vector<CardOutcome> cards;
  std::vector<std::pair<std::string, Evaluation>> evaluations;  // by card
  std::vector<RunRecord::Training> trainings;
  double seconds = 0;  // of all sittings of the run, as run.json has it
  std::optional<Profile> profile;
};

// Who watches a run: the terminal, a test, later a service.
class RunListener : public TrainingListener {
 public:
  virtual void run_started(const std::filesystem::path& folder) = 0;
  virtual void card_started(const Card& card) = 0;
  virtual void card_finished(const Card& card, const CardOutcome& outcome) = 0;
};

}  // namespace stoker
