#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/view/live_line.h"
#include "pipeline/run/runner.h"

namespace stoker::cli {

// A run as a person watches it on standard error: one live line on a terminal, else plain lines, at most one
// every few seconds while a card trains. Quiet shows warnings alone.
class ProgressView : public RunListener {
 public:
  ProgressView(const Document& document, bool quiet);

  void run_started(const std::filesystem::path& folder) override;
  void card_started(const Card& card) override;
  void card_finished(const Card& card, const CardOutcome& outcome) override;
  void epoch_finished(const EpochReport& report) override;
  // Of a training in stages, more than the document says of each.
  void epochs_planned(std::int64_t epochs) override { total_epochs_ = std::max(total_epochs_, epochs); }
  void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override;
  void ensemble_advanced(const EnsembleStanding& standing) override { standing_ = standing; }
  void gpu_seen(const GpuReading& reading) override { gpu_ = reading; }
  void note(Severity severity, const std::string& message) override;

  // An error without the last words of a program in it, where these were said as they came.
  std::string without_told(const std::string& error) const;

 private:
  bool was_told(const std::vector<std::string>& lines) const;
  std::string training_line(std::int64_t step, std::int64_t total_steps, double steps_per_second) const;

  const Document& document_;
  bool quiet_;
  LiveLine live_;
  std::string heading_;  // what runs and where, until it has been said
  std::string card_;
  std::int64_t total_epochs_ = 0;
  std::optional<EpochRecord> last_epoch_;
  std::optional<EnsembleStanding> standing_;
  std::optional<GpuReading> gpu_;
  std::deque<std::string> told_;  // the last notes
  std::chrono::steady_clock::time_point last_plain_line_;
};

}  // namespace stoker::cli
