#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/memory/number_runs.h"
#include "data/split/split_rows.h"
#include "data/table/table.h"

// Rows that lie in time. Whoever divides such rows holds the later ones back, and trains on none that shares
// a moment with one that is held back: what is to be predicted there would be known.
namespace stoker {

// When each row of a whole table is. A tick is the rank of a time among all that there are, over all groups;
// without times, the place within the group.
struct TimeOrder {
  struct Span {
    std::int32_t first = 0;  // tick of the first moment that the row has to do with,
    std::int32_t last = 0;   // and of the last, that of its answer
  };
  // By Table::source_rows, the two ends of the spans.
  NumberRuns<std::int32_t> first;
  NumberRuns<std::int32_t> last;
};

// Of a row of a table that has a TimeOrder.
TimeOrder::Span span_of(const Table& table, std::int64_t row);

// The latest `held_back` rows, and of the `trained_on` rows before them those that are not purged. Refuses
// when nothing is left.
SplitRows split_by_time(const Table& table, std::int64_t trained_on, std::int64_t held_back);

// Each block of time is held back once; those that overlap it are purged on both sides. Refuses when there
// are too few rows.
std::vector<SplitRows> fold_by_time(const Table& table, std::int64_t folds);

// Of the rows, those whose span overlaps that of no row held back; how many others there were is told.
SplitRows without_overlap(const Table& table, std::span<const std::int64_t> rows,
                          std::vector<std::int64_t> held_back);

// Of the rows of a table from the earliest to the latest, by the ends of their spans.
std::vector<std::int64_t> rows_in_time(const Table& table);

// Of a table whose rows are in time: from the first to behind the last row that shares a moment with one of
// the rows [first, last), these among them.
std::pair<std::int64_t, std::int64_t> rows_overlapping(const Table& table, std::int64_t first,
                                                       std::int64_t last);

// For people: what was purged; "" where nothing was.
std::string purge_text(const SplitRows& rows);

}  // namespace stoker
