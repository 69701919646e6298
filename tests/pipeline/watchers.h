#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline/documents.h"
#include "pipeline/run/runner.h"

namespace stoker {

// Listens to a run and remembers what it heard; `at_start`, `at_epoch` and `at_card` may step in.
class Watcher : public RunListener {
 public:
  void run_started(const std::filesystem::path& folder) override { run_folder = folder; }
  void card_started(const Card& card) override {
    started.push_back(card.id);
    if (at_start) at_start(card.id);
  }
  void card_finished(const Card& card, const CardOutcome& outcome) override {
    (outcome.reused ? reused : ran).push_back(card.id);
    if (at_card) at_card(card.id);
  }
  void epoch_finished(const EpochReport& report) override {
    epochs.push_back(report.record.epoch);
    if (at_epoch) at_epoch(report.record.epoch);
  }
  void advanced(std::int64_t, std::int64_t, double) override {}
  void note(Severity severity, const std::string& message) override {
    (severity == Severity::warning ? warnings : notes).push_back(message);
  }

  std::filesystem::path run_folder;
  std::vector<std::string> started;
  std::vector<std::string> ran;
  std::vector<std::string> reused;
  std::vector<std::int64_t> epochs;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  std::function<void(std::int64_t)> at_epoch;
  std::function<void(const std::string&)> at_start;
  std::function<void(const std::string&)> at_card;
};

struct Watched {
  Watcher watcher;
  RunSummary summary;
};

inline Watched run_watched(const Document& document, const RunOptions& options) {
  Watched watched;
  StopSignal stop;
  watched.summary = run_pipeline(document, options, watched.watcher, stop);
  return watched;
}

inline RunOptions options_in(const std::filesystem::path& out) {
  RunOptions options;
  options.out = out;
  return options;
}

// Runs a document that must fail, and gives back how.
inline Error failure_of(const Document& document, const RunOptions& options, Watcher& watcher) {
  StopSignal stop;
  try {
    run_pipeline(document, options, watcher, stop);
  } catch (const Error& error) {
    return error;
  }
  return {ExitCode::done, "did not fail"};
}

}  // namespace stoker
