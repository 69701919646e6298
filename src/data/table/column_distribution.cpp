#include "data/table/column_distribution.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "data/prepare/frequent_texts.h"
#include "data/prepare/ranked_numbers.h"
#include "device/workers.h"

namespace stoker {
namespace {

constexpr std::int64_t rows_at_once = std::int64_t{1} << 14;

void each_finite_block(const arrow::ChunkedArray& column,
                       const std::function<void(std::span<const double>)>& take) {
  std::vector<double> finite;
  each_block(column, [&](std::span<const double> numbers) {
    if (std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); })) {
      take(numbers);
      return;
    }
    finite.clear();
    std::ranges::copy_if(numbers, std::back_inserter(finite), [](double x) { return std::isfinite(x); });
    take(finite);
  });
}

class DistinctNumbers {
 public:
  void add(double number) {
    if (has_more_ || number == last_) return;
    last_ = number;
    seen_.insert(number);
    has_more_ = seen_.size() > most_distinct_values;
  }
  std::int64_t count() const {
    return static_cast<std::int64_t>(std::min(seen_.size(), most_distinct_values));
  }
  bool has_more() const { return has_more_; }

 private:
  std::unordered_set<double> seen_;
  double last_ = missing_number;
  bool has_more_ = false;
};

struct Extremes {
  std::int64_t lowest_row = 0;
  std::int64_t highest_row = 0;
};

// Moments and extremes in one pass (Welford). Returns how many numbers are finite.
std::int64_t add_moments(const arrow::ChunkedArray& column, ColumnDistribution& found, Extremes& extremes) {
  std::int64_t rows = 0;
  std::int64_t row = 0;
  double squares = 0;
  DistinctNumbers distinct;
  each_block(column, [&](std::span<const double> numbers) {
    for (const double number : numbers) {
      const std::int64_t this_row = row++;
      found.missing += std::isnan(number) ? 1 : 0;
      found.infinite += std::isinf(number) ? 1 : 0;
      if (!std::isnan(number)) distinct.add(number);
      if (!std::isfinite(number)) continue;
      if (rows == 0 || number < found.lowest) {
        found.lowest = number;
        extremes.lowest_row = this_row;
      }
      if (rows == 0 || number > found.highest) {
        found.highest = number;
        extremes.highest_row = this_row;
      }
      ++rows;
      const double apart = number - found.mean;
      found.mean += apart / static_cast<double>(rows);
      squares += apart * (number - found.mean);
    }
  });
  if (rows > 0) found.deviation = std::sqrt(squares / static_cast<double>(rows));
  found.distinct = distinct.count();
  found.has_more_distinct = distinct.has_more();
  return rows;
}

void add_steps(const arrow::ChunkedArray& column, ColumnDistribution& found) {
  // Numbers may lie further apart than the largest one.
  const double unit = std::isfinite(found.highest - found.lowest) ? 1 : 0.5;
  const double width = unit * found.highest - unit * found.lowest;
  found.counts.assign(width > 0 ? most_steps_of_distribution : 1, 0);
  const auto steps = static_cast<double>(found.counts.size());
  each_finite_block(column, [&](std::span<const double> numbers) {
    for (const double number : numbers) {
      const double share = width > 0 ? (unit * number - unit * found.lowest) / width : 0;
      ++found.counts[static_cast<std::size_t>(std::min(steps - 1, std::floor(share * steps)))];
    }
  });
}

// As numpy.percentile has them: between two neighbours in proportion.
void add_quartiles(const arrow::ChunkedArray& column, std::int64_t rows, ColumnDistribution& found) {
  std::vector<std::size_t> places;
  for (std::size_t quarter = 1; quarter <= 3; ++quarter) {
    const std::size_t place = quarter * static_cast<std::size_t>(rows - 1) / 4;
    places.push_back(place);
    places.push_back(std::min(place + 1, static_cast<std::size_t>(rows - 1)));
  }
  std::vector<std::size_t> ascending = places;
  std::ranges::sort(ascending);
  ascending.erase(std::unique(ascending.begin(), ascending.end()), ascending.end());
  const NumberBlocks blocks = [&](const auto& take) { each_finite_block(column, take); };
  const std::vector<double> numbers = numbers_at(blocks, static_cast<std::size_t>(rows), ascending);
  const auto at = [&](std::size_t place) {
    return numbers[static_cast<std::size_t>(std::ranges::lower_bound(ascending, place) - ascending.begin())];
  };
  for (std::size_t quarter = 0; quarter < 3; ++quarter) {
    const auto parts = static_cast<double>((quarter + 1) * static_cast<std::size_t>(rows - 1) % 4);
    found.quartiles[quarter] = std::lerp(at(places[2 * quarter]), at(places[2 * quarter + 1]), parts / 4);
  }
}

void look_at_numbers(const arrow::ChunkedArray& column, ColumnDistribution& found) {
  Extremes extremes;
  const std::int64_t rows = add_moments(column, found, extremes);
  if (rows == 0) return;
  add_steps(column, found);
  add_quartiles(column, rows, found);
  if (found.kind == ColumnKind::time) {
    found.lowest_text = shown_value(column, extremes.lowest_row);
    found.highest_text = shown_value(column, extremes.highest_row);
  }
}

template <class Take>
void each_text(const arrow::ChunkedArray& column, Take take) {
  for (std::int64_t first = 0; first < column.length(); first += rows_at_once) {
    const TextValues texts = read_texts(column.Slice(first, rows_at_once));
    for (std::size_t row = 0; row < texts.values.size(); ++row)
      take(texts.values[row], texts.missing[row] != 0);
  }
}

void look_at_texts(const arrow::ChunkedArray& column, ColumnDistribution& found) {
  FrequentTexts counts(most_distinct_values);
  each_text(column, [&](std::string_view text, bool is_missing) {
    found.missing += is_missing ? 1 : 0;
    if (!is_missing) counts.count(text);
  });
  found.has_more_distinct = counts.has_forgotten();
  found.distinct =
      static_cast<std::int64_t>(found.has_more_distinct ? most_distinct_values : counts.distinct());
  if (counts.has_forgotten()) {
    counts.begin_again();
    each_text(column, [&](std::string_view text, bool is_missing) {
      if (!is_missing) counts.count_again(text);
    });
  }
  found.frequent = counts.first(most_frequent_values);
}

ColumnDistribution distribution_of(const std::string& name, const arrow::ChunkedArray& column) {
  ColumnDistribution found{name, kind_of(*column.type())};
  if (found.kind == ColumnKind::text || found.kind == ColumnKind::boolean) {
    look_at_texts(column, found);
  } else {
    look_at_numbers(column, found);
  }
  found.present = column.length() - found.missing;
  return found;
}

// Without a copy of any value.
std::shared_ptr<arrow::ChunkedArray> evenly_spaced(std::shared_ptr<arrow::ChunkedArray> column,
                                                   std::int64_t most) {
  constexpr std::int64_t pieces = 256;
  if (column->length() <= std::max(most, pieces)) return column;
  arrow::ArrayVector chunks;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const auto piece = column->Slice(i * column->length() / pieces, std::max<std::int64_t>(1, most / pieces));
    chunks.insert(chunks.end(), piece->chunks().begin(), piece->chunks().end());
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), column->type());
}

}  // namespace

std::vector<ColumnDistribution> distributions(const Table& table, std::int64_t most_rows) {
  constexpr std::int64_t values_worth_a_thread = std::int64_t{1} << 17;
  std::vector<int> positions;
  for (int i = 0; i < table.columns->num_columns(); ++i)
    if (kind_of(*table.columns->field(i)->type()) != ColumnKind::unsupported) positions.push_back(i);
  const auto count = static_cast<std::int64_t>(positions.size());
  const std::int64_t worth = std::min(table.rows(), most_rows) * count / values_worth_a_thread;
  std::vector<ColumnDistribution> all(positions.size());
  share_among_threads(count, static_cast<int>(std::clamp<std::int64_t>(worth, 1, cores_to_share())),
                      [&](std::int64_t i) {
                        const int position = positions[static_cast<std::size_t>(i)];
                        all[static_cast<std::size_t>(i)] =
                            distribution_of(table.columns->field(position)->name(),
                                            *evenly_spaced(table.columns->column(position), most_rows));
                      });
  return all;
}

}  // namespace stoker
