#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace arrow {
class Array;
class ChunkedArray;
class DataType;
}  // namespace arrow

// One column of a table as plain numbers or texts, whatever Arrow type and chunks it comes in.
namespace stoker {

enum class ColumnKind {
  boolean,  // 0 and 1
  integer,
  real,         // floating point and decimals
  time,         // dates, times and durations, read as seconds
  text,         // dictionary-encoded text too
  empty,        // nothing but missing values, so that no type could be inferred
  unsupported,  // lists, structures, bytes
};
ColumnKind kind_of(const arrow::DataType& type);
bool holds_dates(const arrow::DataType& type);  // with a day, other than times of day and durations
inline bool is_numeric(ColumnKind kind) {
  return kind == ColumnKind::boolean || kind == ColumnKind::integer || kind == ColumnKind::real ||
         kind == ColumnKind::time;
}

inline constexpr double missing_number = std::numeric_limits<double>::quiet_NaN();

// Walks a numeric or empty column from its first row on. Missing values are NaN, as NaN is missing.
class NumberReader {
 public:
  explicit NumberReader(std::shared_ptr<const arrow::ChunkedArray> column);
  void read(std::span<double> next_rows);

 private:
  std::shared_ptr<const arrow::ChunkedArray> column_;
  int chunk_ = 0;
  std::int64_t row_in_chunk_ = 0;
};
std::vector<double> read_numbers(const arrow::ChunkedArray& column);
// The same numbers a few at a time.
void each_block(const arrow::ChunkedArray& column,
                const std::function<void(std::span<const double> numbers)>& take);

// Missing values (nulls, and NaN among numbers) of a column.
std::int64_t count_missing(const arrow::ChunkedArray& column);

// A column as text: its own text, or numbers written as text. The views point into the column or into
// `written`.
struct TextValues {
  std::shared_ptr<const arrow::ChunkedArray> column;
  std::vector<std::string_view> values;
  std::vector<std::uint8_t> missing;
  std::deque<std::string> written;
};
TextValues read_texts(std::shared_ptr<const arrow::ChunkedArray> column);

// The number that a text is, blanks around it aside; none when it is anything else.
std::optional<double> number_in(std::string_view text);

// A value for a message or a preview: very long ones are cut.
std::string shortened(std::string_view text);

// The shortest text that reads back as the same number; whole numbers without a fraction.
std::string number_text(double number);

}  // namespace stoker
