#include "cli/process/progress_file.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "base/text/hidden_values.h"

namespace stoker::cli {

// Whoever watches does without it for a moment when the disk is full; the run does not end for that.
void write_progress(const std::filesystem::path& path, const nlohmann::json& told) {
  if (path.empty()) return;
  const std::filesystem::path unfinished = path.string() + ".new";
  const std::string text = told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::ofstream(unfinished) << json_without_hidden_values(text) << '\n';
  std::error_code ignored;
  std::filesystem::rename(unfinished, path, ignored);
}

void ProgressFile::run_started(const std::filesystem::path& folder) {
  write();
  next_.run_started(folder);
}

void ProgressFile::card_started(const Card& card) {
  card_ = card.id;
  step_ = total_steps_ = epochs_ = 0;
  epoch_.reset();
  standing_.reset();
  write();
  written_.reset();
  next_.card_started(card);
}

void ProgressFile::card_finished(const Card& card, const CardOutcome& outcome) {
  next_.card_finished(card, outcome);
}

void ProgressFile::epoch_finished(const EpochReport& report) {
  epoch_ = report;
  next_.epoch_finished(report);
}

void ProgressFile::epochs_planned(std::int64_t epochs) {
  epochs_ = epochs;
  next_.epochs_planned(epochs);
}

void ProgressFile::ensemble_advanced(const EnsembleStanding& standing) {
  standing_ = standing;
  next_.ensemble_advanced(standing);
}

void ProgressFile::gpu_seen(const GpuReading& reading) {
  gpu_ = reading;
  next_.gpu_seen(reading);
}

void ProgressFile::advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) {
  step_ = step;
  total_steps_ = total_steps;
  steps_per_second_ = steps_per_second;
  const auto now = std::chrono::steady_clock::now();
  if (!written_ || now - *written_ >= between_progress_files) {
    write();
    written_ = now;
  }
  next_.advanced(step, total_steps, steps_per_second);
}

void ProgressFile::write() {
  if (path_.empty()) return;
  nlohmann::json told{{"card", card_}};
  if (total_steps_ > 0) {
    told["step"] = step_;
    told["total_steps"] = total_steps_;
    told["steps_per_second"] = number_to_json(steps_per_second_);
    if (steps_per_second_ > 0)
      told["seconds_left"] = number_to_json(static_cast<double>(total_steps_ - step_) / steps_per_second_);
  }
  if (epochs_ > 0) told["epochs"] = epochs_;
  if (epoch_) {
    told["epoch"] = epoch_number(*epoch_);
    told["train_loss"] = number_to_json(epoch_->record.train_loss);
    if (epoch_->record.validation_loss)
      told["validation_loss"] = number_to_json(*epoch_->record.validation_loss);
    told["rows_per_second"] = number_to_json(epoch_->rows_per_second);
  }
  if (standing_) {
    told["members"] = standing_->members;
    told["finished_members"] = standing_->finished;
  }
  if (gpu_) told["gpu"] = {{"busy", gpu_->busy}, {"watts", gpu_->watts}, {"used_bytes", gpu_->used_bytes}};
  write_progress(path_, told);
}

}  // namespace stoker::cli
