#include <algorithm>

#include <fmt/format.h>

#include "base/text/text.h"
#include "report/experts/expert_drawing.h"
#include "report/run/sections.h"

namespace stoker {
namespace {

constexpr std::size_t most_event_rows = 500;

std::string section_count(std::int64_t count) {
  return human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0)));
}

// What the page's script fills in, by the number of the record among those with moments.
std::string graph_figure(const ExpertsRecord& experts, std::size_t index) {
  const std::size_t last = experts.moments_over_time().size() - 1;
  return fmt::format(
      "<figure data-experts=\"{0}\">\n<figcaption><span>Who is tied to whom</span></figcaption>\n"
      "<label class=\"moments\">Epoch <input type=\"range\" min=\"0\" max=\"{1}\" value=\"{1}\" step=\"1\"> "
      "<output></output></label>\n"
      "<svg class=\"experts\" viewBox=\"0 0 {2} {3}\" role=\"img\" aria-label=\"Graph of the experts\">\n"
      "<g class=\"moment\"></g>\n</svg>\n"
      "<ul class=\"ties\"><li class=\"tie-similar\">similar: answer for like rows with like weights</li>"
      "<li class=\"tie-follows\">follows: asked second for the same rows</li>"
      "<li class=\"tie-specialises\">specialises: began as its copy</li></ul>\n"
      "<p class=\"hint\">An expert is the larger the more rows it answered for since the sleep before, and "
      "the stronger its colour the more it specialises{4}. The strongest ties are drawn, the stronger the "
      "wider.</p>\n</figure>\n",
      index, last, width_of_expert_graph, height_of_expert_graph,
      experts.classes.empty() ? ""
                              : "; beside it stand the classes that it answers for more than any other does");
}

std::string events_table(const ExpertsRecord& experts) {
  std::string rows;
  std::size_t told = 0;
  std::size_t all = 0;
  for (const ExpertsRecord::Event& each : experts.events) {
    if (each.kind == "slept") continue;
    ++all;
    if (told == most_event_rows) continue;
    ++told;
    rows += fmt::format(
        "<tr><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td></tr>\n",
        section_count(experts.epoch_of(each.step)), section_count(each.step), html_escaped(each.kind),
        html_escaped(each.text));
  }
  if (rows.empty()) return "<p>No expert was born, merged or removed.</p>\n";
  const std::string more =
      all > told ? fmt::format("<p class=\"hint\">The first {} of {}.</p>\n", told, all) : "";
  return fmt::format(
      "<div class=\"scroll\"><table class=\"lives\">\n<thead><tr><th class=\"number\">Epoch</th><th "
      "class=\"number\">Step</th>"
      "<th>What</th><th>Why</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n{}",
      rows, more);
}

std::string words_about(const ExpertsRecord& experts) {
  const auto sleeps = std::ranges::count(experts.events, "slept", &ExpertsRecord::Event::kind);
  return fmt::format(
             "<p>{} at the start of the training, {} at its end, room for {}; {}. At the end, {} of {} "
             "parameters answer for a row.</p>\n",
             section_count(living_experts(experts).front().count),
             section_count(static_cast<std::int64_t>(experts.last.nodes.size())), section_count(experts.room),
             counted(static_cast<std::uint64_t>(sleeps), "sleep"), section_count(experts.active_parameters),
             section_count(experts.parameters)) +
         (experts.has_all_events() ? "" : fmt::format("<p class=\"hint\">{}</p>\n", unknown_events));
}

// About the model that was saved, which may be older than the end of the training.
std::string words_about_saved(const RunContents& contents, const std::string& card) {
  for (const RunRecord::Training& each : contents.record.trainings) {
    if (each.card != card || !each.experts) continue;
    std::string text;
    if (const std::string later = saved_before_changes(*each.experts); !later.empty())
      text += fmt::format("<p><strong>Note: {}.</strong></p>\n", html_escaped(later));
    std::vector<std::string> rows;
    for (const std::int64_t count : each.experts->rows) rows.push_back(section_count(count));
    if (!rows.empty())
      text += fmt::format("<p>Rows per expert of the saved model, of {} training rows: {}.</p>\n",
                          section_count(each.experts->measured_rows), join(rows, ", "));
    return text;
  }
  return "";
}

}  // namespace

std::string experts_section(const RunContents& contents) {
  std::string parts;
  std::size_t index = 0;
  for (const CardExperts& each : contents.experts) {
    if (contents.experts.size() > 1) parts += fmt::format("<h3>{}</h3>\n", html_escaped(each.card));
    parts += words_about(each.experts) + words_about_saved(contents, each.card);
    if (!each.experts.moments_over_time().empty()) parts += graph_figure(each.experts, index++);
    parts += events_table(each.experts);
  }
  return parts.empty() ? "" : fmt::format("<section>\n<h2>Experts</h2>\n{}</section>\n", parts);
}

}  // namespace stoker
