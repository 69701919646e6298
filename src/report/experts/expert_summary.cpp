#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text/text.h"
#include "predict/measure/metrics.h"
#include "report/experts/expert_pictures.h"

namespace stoker {
namespace {

constexpr std::size_t most_told_events = 200;

class SummaryLines {
 public:
  void add(std::string_view name, const std::string& value) {
    fmt::format_to(std::back_inserter(text_), "{:<24}{}\n", name, printable(value));
  }
  void heading(std::string_view words) { fmt::format_to(std::back_inserter(text_), "\n{}\n", words); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string summary_count(std::int64_t count) {
  return human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)));
}

std::int64_t events_of_kind(const ExpertsRecord& experts, std::string_view kind) {
  return std::ranges::count(experts.events, kind, &ExpertsRecord::Event::kind);
}

void add_training(const RunRecord::Training& training, SummaryLines& lines) {
  lines.add("model", training.model_type);
  lines.add("engine", fmt::format("{} on {}", training.engine, training.device));
  lines.add("epochs", summary_count(training.epochs));
  lines.add("steps", summary_count(training.steps));
  lines.add("seconds", fmt::format("{:.3f}", training.seconds));
  if (training.seconds > 0)
    lines.add("steps per second",
              fmt::format("{:.1f}", static_cast<double>(training.steps) / training.seconds));
}

void add_experts(const ExpertsRecord& experts, SummaryLines& lines) {
  lines.add("parameters at the end",
            fmt::format("{} (router and living experts)", summary_count(experts.parameters)));
  lines.add("active per row", fmt::format("{} (router and {} of the experts)",
                                          summary_count(experts.active_parameters), experts.top_k));
  lines.add("experts at the start", summary_count(living_experts(experts).front().count));
  lines.add("experts at the end", fmt::format("{} (room for {})", experts.last.nodes.size(), experts.room));
  lines.add("born", summary_count(events_of_kind(experts, "born")));
  lines.add("merged", summary_count(events_of_kind(experts, "merged")));
  lines.add("removed", summary_count(events_of_kind(experts, "removed")));
  lines.add("sleeps", summary_count(events_of_kind(experts, "slept")));
  if (!experts.has_all_events()) lines.add("", unknown_events);
}

void add_saved_model(const ExpertUse& use, SummaryLines& lines) {
  if (use.saved_epoch > 0) lines.add("saved model", fmt::format("weights of epoch {}", use.saved_epoch));
  if (const std::string later = saved_before_changes(use); !later.empty()) lines.add("", later);
  if (use.rows.empty()) return;
  std::vector<std::string> rows;
  for (const std::int64_t each : use.rows) rows.push_back(summary_count(each));
  lines.add("rows per expert",
            fmt::format("{} (of {} training rows)", join(rows, ", "), summary_count(use.measured_rows)));
}

void add_events(const ExpertsRecord& experts, SummaryLines& lines) {
  std::size_t told = 0;
  std::size_t more = 0;
  for (const ExpertsRecord::Event& each : experts.events) {
    if (each.kind == "slept") continue;
    if (told == most_told_events) {
      ++more;
      continue;
    }
    if (told++ == 0) lines.heading("What became of the experts");
    lines.add(fmt::format("epoch {}, step {}", experts.epoch_of(each.step), summary_count(each.step)),
              each.text);
  }
  if (more > 0) lines.add("", fmt::format("and {} more", more));
}

void add_metrics(const std::vector<std::pair<std::string, double>>& metrics, const std::string& heading,
                 SummaryLines& lines) {
  if (metrics.empty()) return;
  lines.heading(heading);
  for (const auto& [name, value] : metrics) lines.add(title_of(name), fmt::format("{:.6g}", value));
}

}  // namespace

std::string performance_summary(const CardExperts& experts, const RunContents& contents) {
  SummaryLines lines;
  lines.add("run", contents.id);
  for (const RunRecord::Training& each : contents.record.trainings)
    if (each.card == experts.card) add_training(each, lines);
  add_experts(experts.experts, lines);
  for (const RunRecord::Training& each : contents.record.trainings)
    if (each.card == experts.card && each.experts) add_saved_model(*each.experts, lines);
  add_events(experts.experts, lines);
  for (const RunRecord::Result& each : contents.record.results)
    if (each.training.empty() || each.training == experts.card)
      add_metrics(
          each.metrics,
          fmt::format("Metrics of {}, on {}", printable(each.card),
                      counted(static_cast<std::uint64_t>(std::max<std::int64_t>(each.rows, 0)), "row")),
          lines);
  for (const RunRecord::Training& each : contents.record.trainings)
    if (each.card == experts.card) add_metrics(each.metrics, "Metrics on rows that were trained on", lines);
  return lines.text();
}

}  // namespace stoker
