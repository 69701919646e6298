#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/column_scale.h"
#include "data/column_values.h"
#include "data/preparation_config.h"
#include "data/table.h"

// Columns of a table on their way into rows of numbers; for the .cpp files of this room.
namespace stoker {

struct OwnRows;

// One column on its way into the rows: numbers are read block by block, texts were looked up beforehand.
struct ColumnFeed {
  const PreparedColumn* column = nullptr;
  std::optional<NumberReader> numbers;
  std::optional<ScaledBlocks> curve;  // where it takes more than a shift and a factor
  std::vector<std::int32_t> slots;
  std::vector<double> statistics;  // of each slot, as the model reads them
  std::int64_t first_feature = 0;  // in the array that it goes to
  std::int64_t missing = 0;
  std::int64_t unusable_row = -1;  // infinite, or too large for the type asked for
};

// `own` are given where the rows are those that the statistics were learnt from.
ColumnFeed feed_for(const PreparedColumn& column, const Table& table, const OwnRows* own);

// All rows of the feeds into `features`, which has `stride` numbers to a row; of float, double and int64.
template <class T>
void lay_columns(std::vector<ColumnFeed>& feeds, std::span<T> features, std::int64_t stride);

}  // namespace stoker
