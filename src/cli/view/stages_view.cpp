#include "cli/view/stages_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/text.h"
#include "cli/view/terminal.h"

namespace stoker::cli {
namespace {

constexpr std::size_t longest_classes = 40;
constexpr std::size_t most_stages_in_view = 12;

std::string classes_in_view(const StageResult& stage) {
  const std::string all = printable(join(stage.classes, ", "));
  if (all.size() <= longest_classes) return all;
  return fmt::format("{} and {} more", printable(stage.classes.front()), stage.classes.size() - 1);
}

}  // namespace

std::string stages_table(const std::vector<StageResult>& stages) {
  const std::size_t shown = std::min(stages.size(), most_stages_in_view);
  std::vector<std::string> head{"after", "classes", "rows", "replayed"};
  for (std::size_t i = 0; i < shown; ++i) head.push_back(fmt::format("right of stage {}", i + 1));
  std::vector<std::vector<std::string>> lines{head};
  for (std::size_t i = 0; i < shown; ++i) {
    const StageResult& stage = stages[i];
    lines.push_back({fmt::format("stage {}", i + 1), classes_in_view(stage),
                     human_count(static_cast<std::uint64_t>(stage.rows)),
                     human_count(static_cast<std::uint64_t>(stage.replayed_rows))});
    for (std::size_t j = 0; j < std::min(shown, stage.accuracies.size()); ++j)
      lines.back().push_back(fmt::format("{:.1f} %", 100 * stage.accuracies[j]));
    lines.back().resize(head.size());
  }
  std::string text = aligned(std::move(lines), "  ");
  if (shown < stages.size()) text += fmt::format("  … and {} more in run.json\n", stages.size() - shown);
  return text;
}

}  // namespace stoker::cli
