#include "data/table/unsigned_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "data/memory/arrow_result.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

constexpr double largest_signed = 9223372036854775808.0;     // 2^63
constexpr double largest_unsigned = 18446744073709551616.0;  // 2^64

bool may_be_unsigned(const arrow::ChunkedArray& column) {
  if (column.type()->id() != arrow::Type::DOUBLE) return false;
  bool beyond_signed = false;
  for (const auto& chunk : column.chunks()) {
    const auto& numbers = static_cast<const arrow::DoubleArray&>(*chunk);
    for (std::int64_t row = 0; row < numbers.length(); ++row) {
      if (numbers.IsNull(row)) continue;
      const double number = numbers.Value(row);
      if (!(number >= 0 && number <= largest_unsigned) || number != std::trunc(number)) return false;
      beyond_signed = beyond_signed || number >= largest_signed;
    }
  }
  return beyond_signed;
}

// Of a number with a few digits and an exponent, such as 2.5e25, none are lost.
bool has_all_digits_of_a_double(double number) {
  constexpr std::ptrdiff_t digits_of_a_double = 15;
  std::array<char, 32> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific);
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  const std::string_view mantissa = digits.substr(0, digits.find('e'));
  return std::ranges::count_if(mantissa, [](char c) { return c >= '0' && c <= '9'; }) > digits_of_a_double;
}

bool has_lost_digits(const arrow::ChunkedArray& column) {
  if (column.type()->id() != arrow::Type::DOUBLE) return false;
  bool has_long = false;
  for (const auto& chunk : column.chunks()) {
    const auto& numbers = static_cast<const arrow::DoubleArray&>(*chunk);
    for (std::int64_t row = 0; row < numbers.length(); ++row) {
      if (numbers.IsNull(row)) continue;
      const double number = numbers.Value(row);
      if (number != std::trunc(number)) return false;
      has_long = has_long || (std::isfinite(number) && std::abs(number) >= largest_unsigned &&
                              has_all_digits_of_a_double(number));
    }
  }
  return has_long;
}

}  // namespace

std::vector<std::string> columns_with_lost_digits(const arrow::Table& table) {
  std::vector<std::string> names;
  for (int c = 0; c < table.num_columns(); ++c) {
    if (has_lost_digits(*table.column(c))) names.push_back(table.field(c)->name());
  }
  return names;
}

std::vector<std::string> columns_that_may_be_unsigned(const arrow::Table& table) {
  std::vector<std::string> names;
  for (int c = 0; c < table.num_columns(); ++c) {
    if (may_be_unsigned(*table.column(c))) names.push_back(table.field(c)->name());
  }
  return names;
}

std::shared_ptr<arrow::ChunkedArray> as_unsigned(const std::shared_ptr<arrow::ChunkedArray>& texts) {
  const TextValues values = read_texts(texts);
  arrow::UInt64Builder builder;
  or_fail(builder.Reserve(texts->length()), "reading whole numbers");
  for (std::size_t row = 0; row < values.values.size(); ++row) {
    if (values.missing[row] != 0) {
      builder.UnsafeAppendNull();
      continue;
    }
    const std::string_view text = values.values[row];
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return nullptr;
    builder.UnsafeAppend(number);
  }
  return std::make_shared<arrow::ChunkedArray>(or_fail(builder.Finish(), "reading whole numbers"));
}

}  // namespace stoker
