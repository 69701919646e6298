#include "cli/view/sweep_view.h"

#include <fmt/format.h>

#include "base/text/text.h"
#include "cli/view/terminal.h"

namespace stoker::cli {

std::string settings_text(const SweepDocument& sweep, const Trial& trial) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sweep.space.size(); ++i)
    parts.push_back(sweep.space[i].name() + " " + value_text(trial.values[i]));
  return join(parts, ", ");
}

void SweepView::sweep_started(const std::filesystem::path& folder, std::int64_t candidates) {
  if (quiet_) return;
  const std::string folds =
      sweep_.config.folds > 0 ? fmt::format(", {} folds each", sweep_.config.folds) : "";
  live_.say(fmt::format("{} → {}: {}, {}{}", sweep_.base.name, folder.string(),
                        counted(static_cast<std::uint64_t>(candidates), "candidate"),
                        config::name_of(sweep_.config.strategy), folds));
}

void SweepView::advanced(const SweepProgress& progress) {
  if (quiet_) return;
  std::string line = fmt::format("  {} of {} trainings", progress.done, progress.total);
  if (progress.best)
    line += fmt::format("  best {} {}: trial {}", sweep_.config.metric, number(*progress.best->score),
                        progress.best->number);
  if (progress.done < progress.total) line += fmt::format("  {} left", human_seconds(progress.seconds_left));
  if (progress.best && !sweep_.space.empty()) line += "  (" + settings_text(sweep_, *progress.best) + ")";
  if (error_is_terminal()) {
    live_.show(line);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_plain_line_ < between_plain_lines) return;
  last_plain_line_ = now;
  live_.say(line);
}

void SweepView::note(Severity severity, const std::string& message) {
  if (severity == Severity::warning) {
    live_.say(Pieces{{"  "}, {"warning:", Colour::yellow}, {" " + message}});
  } else if (!quiet_) {
    live_.say(fmt::format("  {}", message));
  }
}

RunListener& SweepView::refit(const Trial& winner, const Document& document) {
  return watch_run(document, fmt::format("  trial {} wins and is refitted", winner.number));
}

RunListener& SweepView::refit_on_all_rows(const Trial& winner, const Document& document) {
  return watch_run(document, fmt::format("  trial {} is trained once more, on all rows", winner.number));
}

RunListener& SweepView::watch_run(const Document& document, const std::string& announced) {
  live_.clear();
  if (!quiet_) live_.say(announced);
  winner_ = std::make_unique<Document>(document);
  run_view_ = std::make_unique<ProgressView>(*winner_, quiet_);
  return *run_view_;
}

}  // namespace stoker::cli
