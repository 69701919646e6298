#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/process/progress_file.h"
#include "sweep/sweep.h"

namespace stoker::cli {

// The same of a sweep: the trainings that are done, the best trial so far, the time left. While the winner
// is refitted it is the file of that run.
class SweepProgressFile : public SweepListener {
 public:
  // Without a path it passes on alone.
  SweepProgressFile(std::filesystem::path path, const SweepDocument& sweep, SweepListener& next)
      : path_(std::move(path)), sweep_(sweep), next_(next) {}

  void sweep_started(const std::filesystem::path& folder, std::int64_t candidates) override;
  void advanced(const SweepProgress& progress) override;
  void note(Severity severity, const std::string& message) override { next_.note(severity, message); }
  RunListener& refit(const Trial& winner, const Document& document) override;
  RunListener& refit_on_all_rows(const Trial& winner, const Document& document) override;

 private:
  std::filesystem::path path_;
  const SweepDocument& sweep_;
  SweepListener& next_;
  std::optional<std::chrono::steady_clock::time_point> written_;
  std::unique_ptr<ProgressFile> of_run_;
};

}  // namespace stoker::cli
