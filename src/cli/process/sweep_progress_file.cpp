#include "cli/process/sweep_progress_file.h"

#include <nlohmann/json.hpp>

namespace stoker::cli {

void SweepProgressFile::sweep_started(const std::filesystem::path& folder, std::int64_t candidates) {
  write_progress(path_, {{"candidates", candidates}});
  next_.sweep_started(folder, candidates);
}

void SweepProgressFile::advanced(const SweepProgress& progress) {
  next_.advanced(progress);
  const auto now = std::chrono::steady_clock::now();
  if (written_ && now - *written_ < between_progress_files) return;
  written_ = now;
  nlohmann::json told{{"trainings", progress.done},
                      {"total_trainings", progress.total},
                      {"seconds_left", number_to_json(progress.seconds_left)}};
  if (progress.best && progress.best->score)
    told["best"] = {{"trial", progress.best->number},
                    {"metric", sweep_.config.metric},
                    {"score", number_to_json(*progress.best->score)}};
  write_progress(path_, told);
}

RunListener& SweepProgressFile::refit(const Trial& winner, const Document& document) {
  of_run_ = std::make_unique<ProgressFile>(path_, next_.refit(winner, document));
  return *of_run_;
}

RunListener& SweepProgressFile::refit_on_all_rows(const Trial& winner, const Document& document) {
  of_run_ = std::make_unique<ProgressFile>(path_, next_.refit_on_all_rows(winner, document));
  return *of_run_;
}

}  // namespace stoker::cli
