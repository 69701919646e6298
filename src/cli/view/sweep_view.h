#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cli/view/live_line.h"
#include "cli/view/progress_view.h"
#include "sweep/sweep.h"

namespace stoker::cli {

// A sweep as a person watches it: trainings done, the best so far, time left.
class SweepView : public SweepListener {
 public:
  SweepView(const SweepDocument& sweep, bool quiet) : sweep_(sweep), quiet_(quiet) {}

  void sweep_started(const std::filesystem::path& folder, std::int64_t candidates) override;
  void advanced(const SweepProgress& progress) override;
  void note(Severity severity, const std::string& message) override;
  RunListener& refit(const Trial& winner, const Document& document) override;
  RunListener& refit_on_all_rows(const Trial& winner, const Document& document) override;

 private:
  RunListener& watch_run(const Document& document, const std::string& announced);

  const SweepDocument& sweep_;
  bool quiet_;
  LiveLine live_;
  std::chrono::steady_clock::time_point last_plain_line_ = std::chrono::steady_clock::now();
  std::unique_ptr<Document> winner_;
  std::unique_ptr<ProgressView> run_view_;
};

// "model.dropout 0.1, model.learning_rate 0.003"
std::string settings_text(const SweepDocument& sweep, const Trial& trial);

}  // namespace stoker::cli
