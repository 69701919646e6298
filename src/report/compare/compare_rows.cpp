#include "report/compare/compare_rows.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/value.h"
#include "report/sweep/sweep_winner.h"

namespace stoker {
namespace {

using References = std::set<std::string>;  // "<card>.<output>"

void add_references(const config::Value& value, References& into) {
  if (const auto* text = value.get_if<std::string>()) into.insert(*text);
  if (const auto* list = value.get_if<config::Value::List>())
    for (const config::Value& each : *list) add_references(each, into);
}

// What a card of the document reads.
References inputs_of(const config::Value& cards, const std::string& card) {
  References found;
  const config::Value* of_card = cards.find(card);
  const config::Value* inputs = of_card == nullptr ? nullptr : of_card->find("inputs");
  const auto* map = inputs == nullptr ? nullptr : inputs->get_if<config::Value::Map>();
  if (map == nullptr) return found;
  for (const config::Entry& each : *map) add_references(each.value, found);
  return found;
}

// All that a card reads, and what that was made from.
void add_everything_before(const config::Value& cards, const std::string& card, References& into) {
  for (const std::string& each : inputs_of(cards, card))
    if (into.insert(each).second) add_everything_before(cards, each.substr(0, each.find('.')), into);
}

// Whether a card measures on what its model was trained on, or on what that is a part of.
bool measures_rows_of_training(const RunContents& contents, const std::string& card) {
  const auto result = std::ranges::find(contents.record.results, card, &RunRecord::Result::card);
  if (result == contents.record.results.end() || result->training.empty() || contents.document.empty())
    return false;
  try {
    const config::Value document = config::parse_document(contents.document, "pipeline.yaml");
    const config::Value* cards = document.find("cards");
    if (cards == nullptr) return false;
    References trained_on;
    add_everything_before(*cards, result->training, trained_on);
    return std::ranges::any_of(inputs_of(*cards, card),
                               [&](const std::string& each) { return trained_on.contains(each); });
  } catch (const Error&) {
    return false;
  }
}

// What one run has measured by one card.
struct MeasuredByCard {
  std::string run;
  const RunContents* contents;
  const Evaluation* evaluation;
};

std::vector<MeasuredByCard> measured_by(const std::string& card, const std::vector<ListedRun>& runs,
                                        const std::vector<RunContents>& contents) {
  std::vector<MeasuredByCard> all;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const CardEvaluation& each : contents[i].evaluations)
      if (each.card == card) all.push_back({runs[i].id, &contents[i], &each.evaluation});
  return all;
}

DifferentRows grouped(const std::string& card, const std::vector<MeasuredByCard>& all) {
  DifferentRows found{card, {}};
  std::vector<const Evaluation*> firsts;
  for (const MeasuredByCard& each : all) {
    const bool are_trained_on = measures_rows_of_training(*each.contents, card);
    std::size_t place = 0;
    while (place < firsts.size() && !(have_same_rows(*firsts[place], *each.evaluation) &&
                                      found.groups[place].are_trained_on == are_trained_on))
      ++place;
    if (place == firsts.size()) {
      firsts.push_back(each.evaluation);
      found.groups.push_back({each.evaluation->rows,
                              each.evaluation->are_cubes(),
                              are_trained_on,
                              each.contents->record.sources,
                              {}});
    }
    found.groups[place].runs.push_back(each.run);
  }
  return found;
}

bool read_the_same(const std::vector<RunsOfSameRows>& groups) {
  return std::ranges::all_of(groups, [&](const auto& each) { return each.sources == groups[0].sources; });
}

// "2026-…_a and 3 more on 404 rows of iris.csv, which were trained on"
std::string words_of_group(const RunsOfSameRows& group, bool with_sources, bool are_as_many_as_before) {
  const std::size_t more = group.runs.size() - 1;
  std::string words = fmt::format(
      "{}{} on {}", group.runs.front(), more == 0 ? "" : fmt::format(" and {} more", more),
      counted(static_cast<std::uint64_t>(group.rows),
              fmt::format("{}{}", are_as_many_as_before ? "other " : "", group.are_cubes ? "cube" : "row")));
  if (with_sources && !group.sources.empty()) words += " of " + join(group.sources, ", ");
  if (group.are_trained_on) words += ", which it was trained on";
  return words;
}

}  // namespace

RunContents measured_contents(const ListedRun& run) {
  try {
    const auto winner = winner_of(run.paths);
    return read_contents(winner && winner->record ? RunPaths{winner->folder} : run.paths);
  } catch (const Error&) {
    return {};
  }
}

bool have_same_rows(const Evaluation& one, const Evaluation& other) {
  if (one.rows != other.rows || one.task != other.task || one.target != other.target) return false;
  if (one.are_cubes() || other.are_cubes()) return one.cubes_measured == other.cubes_measured;
  const auto* numbers = one.chart<PredictedAgainstActual>();
  const auto* other_numbers = other.chart<PredictedAgainstActual>();
  if (numbers != nullptr && other_numbers != nullptr) return numbers->actual == other_numbers->actual;
  const auto* classes = one.chart<PredictedClasses>();
  const auto* other_classes = other.chart<PredictedClasses>();
  return classes != nullptr && other_classes != nullptr && classes->actual == other_classes->actual;
}

std::vector<DifferentRows> different_rows(const std::vector<ListedRun>& runs) {
  std::vector<RunContents> contents;
  std::vector<std::string> cards;
  for (const ListedRun& run : runs) {
    contents.push_back(measured_contents(run));
    for (const CardEvaluation& each : contents.back().evaluations)
      if (std::ranges::find(cards, each.card) == cards.end()) cards.push_back(each.card);
  }
  std::vector<DifferentRows> all;
  for (const std::string& card : cards)
    if (DifferentRows found = grouped(card, measured_by(card, runs, contents)); found.groups.size() > 1)
      all.push_back(std::move(found));
  return all;
}

std::string words_of(const DifferentRows& rows) {
  const bool with_sources = !read_the_same(rows.groups);
  std::vector<std::string> parts;
  std::set<std::int64_t> counts;
  for (const RunsOfSameRows& each : rows.groups)
    parts.push_back(words_of_group(each, with_sources, !counts.insert(each.rows).second));
  return fmt::format(
      "{}: the runs were measured on different {}, so that a difference may come from these alone: {}",
      rows.card, rows.groups.front().are_cubes ? "cubes" : "rows", join(parts, "; "));
}

nlohmann::json to_json(const std::vector<DifferentRows>& all) {
  nlohmann::json list = nlohmann::json::array();
  for (const DifferentRows& each : all) {
    nlohmann::json groups = nlohmann::json::array();
    for (const RunsOfSameRows& group : each.groups)
      groups.push_back({{"rows", group.rows},
                        {"trained_on", group.are_trained_on},
                        {"sources", group.sources},
                        {"runs", group.runs}});
    list.push_back({{"card", each.card}, {"groups", std::move(groups)}});
  }
  return list;
}

}  // namespace stoker
