#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "pipeline/run/run.h"

namespace stoker::cli {

constexpr auto between_progress_files = std::chrono::seconds(1);
// Renamed into place and not synced: it is of no use later. Without a path nothing is written.
void write_progress(const std::filesystem::path& path, const nlohmann::json& told);

// Passes on what it hears of a run, and writes how far it is into a file for a program that watches: the
// card, the step, the epoch, the last loss, the rate and the time left. At most once a second while steps go
// on, and at once with the first of them.
class ProgressFile : public RunListener {
 public:
  // Without a path it passes on alone.
  ProgressFile(std::filesystem::path path, RunListener& next) : path_(std::move(path)), next_(next) {}

  void run_started(const std::filesystem::path& folder) override;
  void card_started(const Card& card) override;
  void card_finished(const Card& card, const CardOutcome& outcome) override;
  void epoch_finished(const EpochReport& report) override;
  void epochs_planned(std::int64_t epochs) override;
  void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override;
  void ensemble_advanced(const EnsembleStanding& standing) override;
  void gpu_seen(const GpuReading& reading) override;
  void note(Severity severity, const std::string& message) override { next_.note(severity, message); }

 private:
  void write();

  std::filesystem::path path_;
  RunListener& next_;
  std::string card_;
  std::int64_t step_ = 0;
  std::int64_t total_steps_ = 0;
  std::int64_t epochs_ = 0;  // to be trained; 0: not known
  double steps_per_second_ = 0;
  std::optional<EpochReport> epoch_;
  std::optional<EnsembleStanding> standing_;
  std::optional<GpuReading> gpu_;
  std::optional<std::chrono::steady_clock::time_point> written_;
};

}  // namespace stoker::cli
