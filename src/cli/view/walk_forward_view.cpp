#include "cli/view/walk_forward_view.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "base/text/text.h"
#include "cli/view/terminal.h"

namespace stoker::cli {
namespace {

constexpr std::size_t most_metrics_in_line = 4;
constexpr std::size_t most_folds_in_view = 40;

std::vector<std::string> line_of_fold(const std::string& name, std::int64_t trained_on, std::int64_t rows,
                                      const WalkForwardResult::Metrics& metrics) {
  std::vector<std::string> line{name,
                                trained_on > 0 ? human_count(static_cast<std::uint64_t>(trained_on)) : "",
                                human_count(static_cast<std::uint64_t>(rows))};
  for (const auto& [metric, value] : metrics) {
    if (line.size() == 3 + most_metrics_in_line) break;
    line.push_back(number(value));
  }
  return line;
}

}  // namespace

std::string walk_forward_table(const WalkForwardResult& result) {
  if (result.folds.empty()) return "";
  std::vector<std::string> head{"fold", "trained on", "rows"};
  for (const auto& [metric, value] : result.folds.front().metrics) {
    if (head.size() == 3 + most_metrics_in_line) break;
    head.push_back(metric);
  }
  const bool has_times = !result.folds.front().from.empty();
  if (has_times) head.insert(head.end(), {"from", "until"});
  std::vector<std::vector<std::string>> lines{head};
  const std::size_t shown = std::min(result.folds.size(), most_folds_in_view);
  for (std::size_t i = 0; i < shown; ++i) {
    const WalkForwardResult::Fold& fold = result.folds[i];
    lines.push_back(
        line_of_fold(std::to_string(fold.number_at(i)), fold.trained_on, fold.rows, fold.metrics));
    if (!has_times) continue;
    lines.back().resize(head.size() - 2);
    lines.back().insert(lines.back().end(), {fold.from, fold.until});
  }
  if (!result.metrics.empty()) lines.push_back(line_of_fold("all", 0, result.rows, result.metrics));
  for (const auto& [predicts, metrics] : result.baselines)
    lines.push_back(line_of_fold(predicts, 0, result.rows, metrics));
  std::string text = aligned(std::move(lines), "  ");
  if (shown < result.folds.size())
    text += fmt::format("  … and {} more in run.json\n", result.folds.size() - shown);
  if (result.verdict) text += "  " + text_of(*result.verdict) + "\n";
  if (result.untested) text += "  no verdict: " + text_of(*result.untested) + "\n";
  for (const Caution& caution : result.cautions) text += "  " + caution.text + "\n";
  return text;
}

}  // namespace stoker::cli
