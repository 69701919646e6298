#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "data/prepare/column_scale.h"
#include "data/prepare/preparation_config.h"
#include "data/table/column_values.h"
#include "data/table/table.h"
#include "device/array.h"

// Columns of a table on their way into rows of numbers; for the .cpp files of this room.
namespace stoker {

struct OwnRows;

// One column on its way into the rows: numbers are read block by block, texts were looked up beforehand.
struct ColumnFeed {
  const PreparedColumn* column = nullptr;
  std::optional<NumberReader> numbers;
  std::vector<double> given;                  // in place of a reader: all the numbers
  std::shared_ptr<const ScaledBlocks> curve;  // where it takes more than a shift and a factor
  std::vector<std::int32_t> slots;
  std::vector<double> statistics;  // of each slot, as the model reads them
  std::int64_t first_feature = 0;  // in the array that it goes to
  std::int64_t missing = 0;
  std::int64_t unusable_row = -1;  // infinite, or too large for the type asked for
};

// An array of the prepared rows: which columns lie in it, and how many numbers each of them takes.
struct Laid {
  std::vector<const PreparedColumn*> columns;
  std::int64_t (*width)(const PreparedColumn& column);
};
// Of the array of that name: "features", "numbers" or "categories".
Laid columns_of(const std::vector<PreparedColumn>& columns, std::string_view array);

// Refuses what the feeds met and a model cannot read; `row_number` of a row and a column is for people.
void refuse_unusable(
    const std::vector<ColumnFeed>& feeds, Missing missing_values, DType type,
    const std::function<std::int64_t(std::int64_t row, const std::string& column)>& row_number);

// `own` are given where the rows are those that the statistics were learnt from.
ColumnFeed feed_for(const PreparedColumn& column, const Table& table, const OwnRows* own);

// All rows of the feeds into `features`, which has `stride` numbers to a row; of float, double and int64.
template <class T>
void lay_columns(std::vector<ColumnFeed>& feeds, std::span<T> features, std::int64_t stride);

}  // namespace stoker
