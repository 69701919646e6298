#pragma once

#include <string>

#include "pipeline/cache/cache.h"
#include "pipeline/run/run_folder.h"
#include "train/loop/progress.h"

namespace stoker {

// Writes what a card tells into the run folder and passes it on.
class Recorder : public TrainingListener {
 public:
  Recorder(RunFolder& folder, TrainingListener& listener) : folder_(folder), listener_(listener) {}

  void begin(const std::string& card) { card_ = card; }
  void begin_notes() { notes_.clear(); }
  const CardNotes& notes() const { return notes_; }
  bool heard_of_training() const { return heard_of_training_; }

  void epoch_finished(const EpochReport& epoch) override {
    heard_of_training_ = true;
    folder_.epoch_finished(card_, epoch);
    listener_.epoch_finished(epoch);
  }
  void epochs_planned(std::int64_t epochs) override { listener_.epochs_planned(epochs); }
  // Once a chunk, and before any checkpoint.
  void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override {
    folder_.fail_if_gone();
    listener_.advanced(step, total_steps, steps_per_second);
  }
  void ensemble_advanced(const EnsembleStanding& standing) override {
    heard_of_training_ = true;
    listener_.ensemble_advanced(standing);
  }
  void gpu_seen(const GpuReading& reading) override {
    folder_.gpu_seen(card_, reading);
    listener_.gpu_seen(reading);
  }
  void note(Severity severity, const std::string& message) override {
    notes_.emplace_back(severity, message);
    record(severity, message);
    listener_.note(severity, message);
  }
  void record(Severity severity, const std::string& message) { folder_.note(card_, severity, message); }

  // What was wrong with an output still is when it is used again; how it came about stands in the record, but
  // is told once.
  void repeat(const CardNotes& notes) {
    for (const auto& [severity, message] : notes) {
      if (severity == Severity::warning) {
        note(severity, message);
      } else {
        record(severity, message);
      }
    }
  }

 private:
  RunFolder& folder_;
  TrainingListener& listener_;
  std::string card_;
  CardNotes notes_;  // since begin_notes()
  bool heard_of_training_ = false;
};

}  // namespace stoker
