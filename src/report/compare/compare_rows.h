#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/run/contents.h"
#include "store/runs.h"

// Which rows runs were measured on: a difference between metrics of different rows may come from the rows
// alone.
namespace stoker {

// What a run has measured, with what is needed to tell the rows; those of a sweep are its winner's. Empty
// where it cannot be read.
RunContents measured_contents(const ListedRun& run);

// By the answers that are kept of them: as many rows, with the same answers in the same order.
bool have_same_rows(const Evaluation& one, const Evaluation& other);

// Runs of which one card has measured the same rows.
struct RunsOfSameRows {
  std::int64_t rows = 0;
  bool are_cubes = false;
  bool are_trained_on = false;       // the models know some of the rows, or all
  std::vector<std::string> sources;  // what was read, as people call it
  std::vector<std::string> runs;     // their ids
};
struct DifferentRows {
  std::string card;
  std::vector<RunsOfSameRows> groups;  // two or more, in the order of their first runs
};
// One for each card that has measured other rows in one run than in another.
std::vector<DifferentRows> different_rows(const std::vector<ListedRun>& runs);

// "evaluate: the runs were measured on different rows, …"
std::string words_of(const DifferentRows& rows);
nlohmann::json to_json(const std::vector<DifferentRows>& all);

}  // namespace stoker
