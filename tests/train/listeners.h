#pragma once

#include <string>
#include <vector>

#include "train/loop/progress.h"

namespace stoker::test {

// Remembers what it is told.
class RecordingListener : public TrainingListener {
 public:
  void epoch_finished(const EpochReport& report) override { epochs.push_back(report); }
  void advanced(std::int64_t step, std::int64_t, double) override { steps.push_back(step); }
  void note(Severity severity, const std::string& message) override {
    (severity == Severity::warning ? warnings : infos).push_back(message);
  }

  std::vector<EpochReport> epochs;
  std::vector<std::int64_t> steps;
  std::vector<std::string> infos;
  std::vector<std::string> warnings;
};

}  // namespace stoker::test
