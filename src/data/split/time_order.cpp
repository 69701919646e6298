#include "data/split/time_order.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

using Span = TimeOrder::Span;
using RowList = std::vector<std::int64_t>;

// Ascending and apart from each other.
std::vector<Span> united_spans(const Table& table, const RowList& rows) {
  std::vector<Span> spans;
  spans.reserve(rows.size());
  for (const std::int64_t row : rows) spans.push_back(span_of(table, row));
  std::ranges::sort(spans, {}, &Span::first);
  std::vector<Span> united;
  for (const Span& each : spans) {
    if (united.empty() || each.first > united.back().last) {
      united.push_back(each);
    } else {
      united.back().last = std::max(united.back().last, each.last);
    }
  }
  return united;
}

bool overlaps_any(const std::vector<Span>& united, const Span& span) {
  const auto later = std::ranges::upper_bound(united, span.last, {}, &Span::first);
  return later != united.begin() && std::prev(later)->last >= span.first;
}

[[noreturn]] void refuse_nothing_left(const Table& table, std::size_t rows, std::size_t held_back) {
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const Span span = span_of(table, row);
    longest = std::max<std::int64_t>(longest, span.last - span.first + 1);
  }
  refuse(
      "no row is left to train on: all {} overlap in time with one of the {} held back, each with its answer "
      "being up to {} moments long; use a longer series, shorter windows or a smaller horizon",
      human_count(rows), human_count(held_back), human_count(static_cast<std::uint64_t>(longest)));
}

}  // namespace

Span span_of(const Table& table, std::int64_t row) {
  const std::int64_t place = table.source_rows ? (*table.source_rows)[static_cast<std::size_t>(row)] : row;
  const auto index = static_cast<std::size_t>(place);
  return {table.time_order->first.at(index), table.time_order->last.at(index)};
}

RowList rows_in_time(const Table& table) {
  RowList rows(static_cast<std::size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const auto is_earlier = [&](std::int64_t a, std::int64_t b) {
    const Span one = span_of(table, a);
    const Span other = span_of(table, b);
    return one.last != other.last ? one.last < other.last : one.first < other.first;
  };
  if (!std::is_sorted(rows.begin(), rows.end(), is_earlier))
    std::stable_sort(rows.begin(), rows.end(), is_earlier);
  return rows;
}

SplitRows without_overlap(const Table& table, std::span<const std::int64_t> rows, RowList held_back) {
  const std::vector<Span> united = united_spans(table, held_back);
  SplitRows split;
  split.first.reserve(rows.size());
  for (const std::int64_t row : rows)
    if (!overlaps_any(united, span_of(table, row))) split.first.push_back(row);
  split.purged = static_cast<std::int64_t>(rows.size() - split.first.size());
  split.second = std::move(held_back);
  if (split.first.empty()) refuse_nothing_left(table, rows.size(), split.second.size());
  for (RowList* part : {&split.first, &split.second})
    if (!std::ranges::is_sorted(*part)) std::ranges::sort(*part);
  return split;
}

std::pair<std::int64_t, std::int64_t> rows_overlapping(const Table& table, std::int64_t first,
                                                       std::int64_t last) {
  RowList held_back(static_cast<std::size_t>(last - first));
  std::iota(held_back.begin(), held_back.end(), first);
  const std::vector<Span> united = united_spans(table, held_back);
  std::pair range(first, last);
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    if (!overlaps_any(united, span_of(table, row))) continue;
    range = {std::min(range.first, row), std::max(range.second, row + 1)};
  }
  return range;
}

SplitRows split_by_time(const Table& table, std::int64_t trained_on, std::int64_t held_back) {
  const RowList order = rows_in_time(table);
  const auto cut = order.end() - held_back;
  return without_overlap(table, std::span(cut - trained_on, cut), {cut, order.end()});
}

std::vector<SplitRows> fold_by_time(const Table& table, std::int64_t folds) {
  const RowList order = rows_in_time(table);
  const std::int64_t rows = table.rows();
  if (rows < 2 * folds) refuse("{} rows are too few for {} folds; use more rows or fewer folds", rows, folds);
  std::vector<SplitRows> result;
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    const auto begin = order.begin() + fold * rows / folds;
    const auto end = order.begin() + (fold + 1) * rows / folds;
    RowList others(order.begin(), begin);
    others.insert(others.end(), end, order.end());
    result.push_back(without_overlap(table, others, {begin, end}));
  }
  return result;
}

std::string purge_text(const SplitRows& rows) {
  if (rows.purged == 0) return "";
  return fmt::format(
      "the rows are divided by time: the latest {} are held back, and {} before them {} left out, because "
      "they share moments with those",
      human_count(rows.second.size()), counted(static_cast<std::uint64_t>(rows.purged), "row"),
      rows.purged == 1 ? "is" : "are");
}

}  // namespace stoker
