#include "cli/view/progress_view.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/text/text.h"
#include "cli/view/terminal.h"
#include "pipeline/training/training_card.h"

namespace stoker::cli {
namespace {

// That a card will train for; 0: it has none.
std::int64_t epochs_of(const Document& document, const Card& card) {
  if (!trains(card)) return 0;
  const std::optional<ModelSpec> spec = spec_to_train(document, card);
  return spec && !spec->is_solved() ? spec->training.epochs : 0;
}

std::string bar(double share, std::size_t cells) {
  const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(cells));
  std::string text;
  for (std::size_t i = 0; i < cells; ++i) text += i < full ? "█" : "░";
  return text;
}

// Of a slow training, digits enough to see that it moves.
std::string rate_text(double steps_per_second) {
  constexpr double fast = 10;
  return steps_per_second < fast ? fmt::format("{:.2g}", steps_per_second)
                                 : human_count(static_cast<std::uint64_t>(steps_per_second));
}

}  // namespace

ProgressView::ProgressView(const Document& document, bool quiet) : document_(document), quiet_(quiet) {}

void ProgressView::run_started(const std::filesystem::path& folder) {
  heading_ = fmt::format("{} → {}", document_.name, folder.string());
}

void ProgressView::card_started(const Card& card) {
  card_ = card.id;
  total_epochs_ = epochs_of(document_, card);
  last_epoch_.reset();
  standing_.reset();
  last_plain_line_ = std::chrono::steady_clock::now();
  if (!quiet_) live_.show(fmt::format("{} …", card.id));
}

void ProgressView::card_finished(const Card& card, const CardOutcome& outcome) {
  if (quiet_) return;
  // Not before a card is done: a run that is refused at its first card leaves no folder.
  if (!heading_.empty()) live_.say(heading_);
  heading_.clear();
  const Piece what = outcome.reused ? Piece{"reused from the cache", Colour::grey}
                                    : Piece{human_seconds(outcome.seconds), Colour::green};
  live_.say(Pieces{{fmt::format("  {:<12} {:<18} ", card.id, card.type)}, what});
}

void ProgressView::epoch_finished(const EpochReport& report) {
  last_epoch_ = report.record;
}

void ProgressView::advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) {
  if (quiet_) return;
  if (error_is_terminal()) {
    live_.show(training_line(step, total_steps, steps_per_second));
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_plain_line_ < between_plain_lines) return;
  last_plain_line_ = now;
  live_.say(training_line(step, total_steps, steps_per_second));
}

void ProgressView::note(Severity severity, const std::string& message) {
  if (severity == Severity::warning) {
    live_.say(Pieces{{"  "}, {"warning:", Colour::yellow}, {" " + message}});
  } else if (!quiet_) {
    live_.say(fmt::format("  {}", message));
  } else {
    return;
  }
  constexpr std::size_t most_remembered = 32;
  told_.push_back(message);
  if (told_.size() > most_remembered) told_.pop_front();
}

// A note of a program's line has the name of its command in front.
bool ProgressView::was_told(const std::vector<std::string>& lines) const {
  if (lines.empty() || lines.size() > told_.size()) return false;
  auto told = told_.end() - static_cast<std::ptrdiff_t>(lines.size());
  return std::ranges::all_of(lines, [&](const std::string& line) {
    const std::string_view mark = "warning:";
    const bool warns = lower_case(line.substr(0, mark.size())) == mark;
    return (told++)->ends_with(warns ? line.substr(mark.size()) : line);
  });
}

std::string ProgressView::without_told(const std::string& error) const {
  constexpr std::string_view mark = "; its last words:\n";
  const std::size_t found = error.find(mark);
  if (found == std::string::npos || !was_told(split_text(error.substr(found + mark.size()), '\n')))
    return error;
  return error.substr(0, found) + "; its last words stand above";
}

std::string ProgressView::training_line(std::int64_t step, std::int64_t total_steps,
                                        double steps_per_second) const {
  const double share = total_steps > 0 ? static_cast<double>(step) / static_cast<double>(total_steps) : 0.0;
  std::string line = fmt::format("  {} ", card_);
  if (error_is_terminal()) line += bar(share, 16) + " ";
  line += fmt::format("{:3.0f} %", 100 * share);
  if (standing_) {
    line += fmt::format("  {} of {} members trained", standing_->finished, standing_->members);
    if (standing_->epoch > 0) line += fmt::format("  epoch {}", standing_->epoch);
    if (standing_->epoch > 0 && total_epochs_ > 0) line += fmt::format("/{}", total_epochs_);
  }
  if (last_epoch_) {
    line += fmt::format("  epoch {}", last_epoch_->epoch + 1);
    if (total_epochs_ > 0) line += fmt::format("/{}", total_epochs_);
    line += fmt::format("  loss {:.5g}", last_epoch_->train_loss);
    if (last_epoch_->validation_loss)
      line += fmt::format("  validation {:.5g}", *last_epoch_->validation_loss);
  }
  if (steps_per_second > 0) {
    const double left = static_cast<double>(total_steps - step) / steps_per_second;
    line +=
        fmt::format("  {} steps/s  {} left", rate_text(steps_per_second), human_seconds(std::max(0.0, left)));
  }
  // As its driver counts it: with one multiprocessor at work it is.
  if (gpu_) line += fmt::format("  GPU busy {:.0f} %, {:.0f} W", 100 * gpu_->busy, gpu_->watts);
  return line;
}

}  // namespace stoker::cli
