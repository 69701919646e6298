#include "data/prepare/column_feed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include "base/error.h"
#include "base/text/text.h"
#include "data/dates/date_parts.h"
#include "data/prepare/category_slots.h"
#include "data/prepare/column_scale.h"
#include "data/prepare/held_types.h"
#include "data/target/target_statistics.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

// Columns are read one block of rows at a time, so that the block's row-major numbers stay in the nearest
// cache while one column after the other is laid into them.
constexpr std::size_t block_rows = 512;

// 1 where the value is missing.
std::vector<std::int32_t> missing_in(const std::shared_ptr<arrow::ChunkedArray>& values, ColumnKind kind) {
  std::vector<std::int32_t> flags;
  if (kind == ColumnKind::text) {
    const TextValues texts = read_texts(values);
    flags.assign(texts.missing.begin(), texts.missing.end());
  } else {
    for (const double number : read_numbers(*values)) flags.push_back(std::isnan(number) ? 1 : 0);
  }
  return flags;
}

// `own` are given where the rows are those that the statistics were learnt from.
void feed_statistics(ColumnFeed& feed, const OwnRows* own) {
  if (own == nullptr) {
    feed.statistics = statistics_of_slots(*feed.column);
  } else {
    feed.statistics = statistics_without_folds(*feed.column, feed.slots, *own);
    for (std::size_t row = 0; row < feed.slots.size(); ++row)
      feed.slots[row] = feed.slots[row] * inner_folds + own->folds[row];
  }
}

// What is below it in size becomes a finite number of the type: halfway to the next power of two, a float is
// rounded up to infinity.
template <class T>
constexpr double beyond_all = std::is_same_v<T, float> ? 0x1.ffffffp127
                                                       : std::numeric_limits<double>::infinity();

// A loop without branches for the columns that most tables have: a shift and a factor. The same numbers as
// below.
template <class T>
void lay_straight(ColumnFeed& feed, std::span<const double> numbers, std::size_t first_row, T* target,
                  std::int64_t stride) {
  std::array<T, block_rows> laid;
  const double fill = feed.column->fill;
  const double shift = feed.column->shift;
  const double factor = 1 / feed.column->scale;
  std::int64_t missing = 0;
  std::int64_t usable = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double number = numbers[i];
    const bool is_missing = std::isnan(number);
    const double prepared = ((is_missing ? fill : number) - shift) * factor;
    missing += is_missing ? 1 : 0;
    usable += std::abs(prepared) < beyond_all<T> ? 1 : 0;
    laid[i] = static_cast<T>(prepared);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i, target += stride) *target = laid[i];
  feed.missing += missing;
  if (usable == std::ssize(numbers) || feed.unusable_row >= 0) return;
  const auto* const unusable = std::find_if(laid.begin(), laid.begin() + std::ssize(numbers),
                                            [](T number) { return !std::isfinite(number); });
  feed.unusable_row = static_cast<std::int64_t>(first_row) + (unusable - laid.begin());
}

template <class T>
void lay_numbers(ColumnFeed& feed, std::span<double> numbers, std::size_t first_row, T* target,
                 std::int64_t stride) {
  const PreparedColumn& column = *feed.column;
  if constexpr (std::is_floating_point_v<T>) {
    if (!feed.curve && column.part == DatePart::none)
      return lay_straight(feed, numbers, first_row, target, stride);
  }
  for (double& number : numbers) {
    if (std::isnan(number)) {
      ++feed.missing;
      number = column.fill;
    }
    if (column.part != DatePart::none) number = part_of_date(column.part, number);
  }
  const double factor = 1 / column.scale;
  if (feed.curve) {
    feed.curve->scale(numbers);
  } else {
    for (double& number : numbers) number = (number - column.shift) * factor;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i, target += stride) {
    const T prepared = static_cast<T>(numbers[i]);
    if (!std::isfinite(prepared) && feed.unusable_row < 0)
      feed.unusable_row = static_cast<std::int64_t>(first_row + i);
    *target = prepared;
  }
}

template <class T>
void lay_one_hot(const PreparedColumn& column, std::span<const std::int32_t> slots, T* target,
                 std::int64_t stride) {
  for (const std::int32_t slot : slots) {
    if (static_cast<std::size_t>(slot) == column.categories.size() && !column.shares.empty()) {
      std::transform(column.shares.begin(), column.shares.end(), target,
                     [](double share) { return static_cast<T>(share); });
    } else {
      std::fill_n(target, column.width(), T{0});
      target[slot] = 1;
    }
    target += stride;
  }
}

template <class T>
void lay_statistics(ColumnFeed& feed, std::size_t first_row, std::size_t rows, T* target,
                    std::int64_t stride) {
  const auto width = static_cast<std::size_t>(feed.column->width());
  for (std::size_t row = first_row; row < first_row + rows; ++row, target += stride) {
    const double* of_slot = feed.statistics.data() + static_cast<std::size_t>(feed.slots[row]) * width;
    for (std::size_t i = 0; i < width; ++i) {
      target[i] = static_cast<T>(of_slot[i]);
      if (!std::isfinite(static_cast<double>(target[i])) && feed.unusable_row < 0)
        feed.unusable_row = static_cast<std::int64_t>(row);
    }
  }
}

template <class T>
void lay_block(ColumnFeed& feed, std::size_t first_row, std::size_t rows, T* target, std::int64_t stride) {
  std::array<double, block_rows> buffer;
  const std::span numbers(buffer.data(), rows);
  const std::span slots(feed.slots);
  switch (feed.column->kind) {
    case PreparedColumn::Kind::number:
      if (!feed.numbers)
        return lay_numbers(feed, std::span<double>(feed.given).subspan(first_row, rows), first_row, target,
                           stride);
      feed.numbers->read(numbers);
      return lay_numbers(feed, numbers, first_row, target, stride);
    case PreparedColumn::Kind::ordinal:
      std::copy_n(slots.begin() + static_cast<std::ptrdiff_t>(first_row), rows, numbers.begin());
      return lay_numbers(feed, numbers, first_row, target, stride);
    case PreparedColumn::Kind::one_hot:
      return lay_one_hot(*feed.column, slots.subspan(first_row, rows), target, stride);
    case PreparedColumn::Kind::target:
      return lay_statistics(feed, first_row, rows, target, stride);
    case PreparedColumn::Kind::embedded:
    case PreparedColumn::Kind::missing:
      for (std::size_t i = 0; i < rows; ++i, target += stride) *target = static_cast<T>(slots[first_row + i]);
  }
}

std::int64_t width_alone(const PreparedColumn&) {
  return 1;
}
std::int64_t width_among_features(const PreparedColumn& column) {
  return column.width();
}

}  // namespace

Laid columns_of(const std::vector<PreparedColumn>& columns, std::string_view array) {
  Laid laid{{}, array == "features" ? width_among_features : width_alone};
  for (const PreparedColumn& column : columns) {
    const bool is_embedded = column.kind == PreparedColumn::Kind::embedded;
    const std::string_view place = column.is_apart ? "numbers" : is_embedded ? "categories" : "features";
    if (place == array) laid.columns.push_back(&column);
  }
  return laid;
}

void refuse_unusable(
    const std::vector<ColumnFeed>& feeds, Missing missing_values, DType type,
    const std::function<std::int64_t(std::int64_t row, const std::string& column)>& row_number) {
  std::vector<std::string> missing;
  for (const ColumnFeed& feed : feeds) {
    if (feed.unusable_row >= 0) {
      refuse("column '{}' is infinite in row {}, or too large for {}", feed.column->name,
             row_number(feed.unusable_row, feed.column->name), name_of(type));
    }
    const bool is_part_of_same = feed.column->part != DatePart::none && feed.column->part != DatePart::days;
    if (feed.missing > 0 && !is_part_of_same)
      missing.push_back(fmt::format("'{}' ({})", feed.column->name,
                                    counted(static_cast<std::uint64_t>(feed.missing), "row")));
  }
  if (missing_values == Missing::refuse && !missing.empty()) {
    refuse("missing values in {}, which missing_values: refuse does not allow", join(missing, ", "));
  }
}

ColumnFeed feed_for(const PreparedColumn& column, const Table& table, const OwnRows* own) {
  const auto values = table.column(column.name);
  const ColumnKind kind = kind_of(*values->type());
  ColumnFeed feed;
  feed.column = &column;
  if (column.curve != PreparedColumn::Curve::straight)
    feed.curve = std::make_shared<const ScaledBlocks>(column);
  if (kind == ColumnKind::unsupported) {
    refuse("column '{}' has type {}, which cannot be converted to numbers", column.name,
           values->type()->ToString());
  }
  if (column.kind == PreparedColumn::Kind::missing) {
    feed.slots = missing_in(values, kind);
  } else if (column.is_text()) {
    feed.slots = slots_of(column, values, feed.missing);
    if (column.kind == PreparedColumn::Kind::target) feed_statistics(feed, own);
  } else if (holds_other_type(column, *values->type())) {
    refuse_other_type(column, table);
  } else {
    feed.numbers.emplace(values);
  }
  return feed;
}

template <class T>
void lay_columns(std::vector<ColumnFeed>& feeds, std::span<T> features, std::int64_t stride) {
  const std::size_t rows = features.size() / static_cast<std::size_t>(stride);
  // A curve has tables that are to be in the nearest cache too, and stay there for several blocks.
  const bool has_curves =
      std::ranges::any_of(feeds, [](const ColumnFeed& feed) { return feed.curve != nullptr; });
  const std::size_t together = has_curves ? 4 * block_rows : block_rows;
  for (std::size_t start = 0; start < rows; start += together) {
    const std::size_t end = std::min(start + together, rows);
    for (ColumnFeed& feed : feeds) {
      for (std::size_t first = start; first < end; first += block_rows) {
        T* const block = features.data() + first * static_cast<std::size_t>(stride);
        lay_block(feed, first, std::min(block_rows, end - first), block + feed.first_feature, stride);
      }
    }
  }
}

template void lay_columns(std::vector<ColumnFeed>& feeds, std::span<float> features, std::int64_t stride);
template void lay_columns(std::vector<ColumnFeed>& feeds, std::span<double> features, std::int64_t stride);
template void lay_columns(std::vector<ColumnFeed>& feeds, std::span<std::int64_t> features,
                          std::int64_t stride);

}  // namespace stoker
