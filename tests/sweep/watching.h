#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/watchers.h"
#include "sweep/sweep.h"

namespace stoker::test {

// Listens to a sweep and remembers what it heard; `at_training` may step in.
class Watching : public SweepListener {
 public:
  void sweep_started(const std::filesystem::path& started, std::int64_t) override { folder = started; }
  void advanced(const SweepProgress& progress) override {
    done = progress.done;
    if (at_training) at_training(progress.done);
  }
  void note(Severity, const std::string& message) override { notes.push_back(message); }
  RunListener& refit(const Trial&, const Document&) override { return run; }
  RunListener& refit_on_all_rows(const Trial&, const Document&) override { return final_run; }

  std::filesystem::path folder;
  std::int64_t done = 0;
  std::vector<std::string> notes;
  std::function<void(std::int64_t)> at_training;
  Watcher run;
  Watcher final_run;
};

}  // namespace stoker::test
