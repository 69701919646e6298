#include "data/table/column_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_map>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include "base/error.h"
#include "data/table/whole_times.h"

namespace stoker {
namespace {

void mark_missing(const arrow::Array& array, std::int64_t start, std::span<double> out) {
  if (array.null_count() == 0) return;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (array.IsNull(start + static_cast<std::int64_t>(i))) out[i] = missing_number;
  }
}

// Values behind nulls are whatever lies there; mark_missing replaces them afterwards.
template <class ArrowArray>
void copy_values(const arrow::Array& array, std::int64_t start, std::span<double> out) {
  const auto* values = static_cast<const ArrowArray&>(array).raw_values() + start;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(values[i]);
}

// Whole seconds apart from the rest, so that the same moment is the same number, whatever the unit.
template <class ArrowArray>
void copy_seconds(const arrow::Array& array, std::int64_t start, std::span<double> out, std::int64_t parts) {
  const auto* values = static_cast<const ArrowArray&>(array).raw_values() + start;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t value = values[i];
    out[i] =
        static_cast<double>(value / parts) + static_cast<double>(value % parts) / static_cast<double>(parts);
  }
}

template <class Function>
void copy_each(std::int64_t start, std::span<double> out, Function value_at) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_at(start + static_cast<std::int64_t>(i));
}

template <class ArrowArray, class Decimal>
void copy_decimals(const arrow::Array& array, std::int64_t start, std::span<double> out) {
  const auto& decimals = static_cast<const ArrowArray&>(array);
  const int scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
  copy_each(start, out, [&](std::int64_t row) {
    return decimals.IsNull(row) ? missing_number : Decimal(decimals.GetValue(row)).ToDouble(scale);
  });
}

void copy_numbers(const arrow::Array& array, std::int64_t start, std::span<double> out);

// Dictionaries are small: the whole dictionary once per block is cheap beside the gather.
void copy_dictionary(const arrow::Array& array, std::int64_t start, std::span<double> out) {
  const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
  std::vector<double> values(static_cast<std::size_t>(encoded.dictionary()->length()));
  copy_numbers(*encoded.dictionary(), 0, values);
  copy_each(start, out, [&](std::int64_t row) {
    return encoded.IsNull(row) ? missing_number
                               : values.at(static_cast<std::size_t>(encoded.GetValueIndex(row)));
  });
}

void copy_times(const arrow::Array& array, std::int64_t start, std::span<double> out) {
  const arrow::DataType& type = *array.type();
  switch (type.id()) {
    case arrow::Type::DATE32:
      copy_values<arrow::Date32Array>(array, start, out);
      for (double& days : out) days *= 86'400;
      return;
    case arrow::Type::DATE64:
      return copy_seconds<arrow::Date64Array>(array, start, out, 1'000);
    case arrow::Type::TIME32:
      return copy_seconds<arrow::Time32Array>(
          array, start, out, parts_of_second(static_cast<const arrow::Time32Type&>(type).unit()));
    case arrow::Type::TIME64:
      return copy_seconds<arrow::Time64Array>(
          array, start, out, parts_of_second(static_cast<const arrow::Time64Type&>(type).unit()));
    case arrow::Type::DURATION:
      return copy_seconds<arrow::DurationArray>(
          array, start, out, parts_of_second(static_cast<const arrow::DurationType&>(type).unit()));
    default:
      return copy_seconds<arrow::TimestampArray>(
          array, start, out, parts_of_second(static_cast<const arrow::TimestampType&>(type).unit()));
  }
}

void copy_numbers(const arrow::Array& array, std::int64_t start, std::span<double> out) {
  switch (array.type_id()) {
    case arrow::Type::DOUBLE:
      copy_values<arrow::DoubleArray>(array, start, out);
      break;
    case arrow::Type::FLOAT:
      copy_values<arrow::FloatArray>(array, start, out);
      break;
    case arrow::Type::INT64:
      copy_values<arrow::Int64Array>(array, start, out);
      break;
    case arrow::Type::INT32:
      copy_values<arrow::Int32Array>(array, start, out);
      break;
    case arrow::Type::INT16:
      copy_values<arrow::Int16Array>(array, start, out);
      break;
    case arrow::Type::INT8:
      copy_values<arrow::Int8Array>(array, start, out);
      break;
    case arrow::Type::UINT64:
      copy_values<arrow::UInt64Array>(array, start, out);
      break;
    case arrow::Type::UINT32:
      copy_values<arrow::UInt32Array>(array, start, out);
      break;
    case arrow::Type::UINT16:
      copy_values<arrow::UInt16Array>(array, start, out);
      break;
    case arrow::Type::UINT8:
      copy_values<arrow::UInt8Array>(array, start, out);
      break;
    case arrow::Type::HALF_FLOAT: {
      const auto* bits = static_cast<const arrow::HalfFloatArray&>(array).raw_values();
      copy_each(start, out,
                [&](std::int64_t row) { return arrow::util::Float16::FromBits(bits[row]).ToDouble(); });
      break;
    }
    case arrow::Type::BOOL:
      copy_each(start, out, [&](std::int64_t row) {
        return static_cast<const arrow::BooleanArray&>(array).Value(row) ? 1.0 : 0.0;
      });
      break;
    case arrow::Type::DECIMAL32:
      return copy_decimals<arrow::Decimal32Array, arrow::Decimal32>(array, start, out);
    case arrow::Type::DECIMAL64:
      return copy_decimals<arrow::Decimal64Array, arrow::Decimal64>(array, start, out);
    case arrow::Type::DECIMAL128:
      return copy_decimals<arrow::Decimal128Array, arrow::Decimal128>(array, start, out);
    case arrow::Type::DECIMAL256:
      return copy_decimals<arrow::Decimal256Array, arrow::Decimal256>(array, start, out);
    case arrow::Type::DICTIONARY:
      return copy_dictionary(array, start, out);
    case arrow::Type::NA:
      return std::fill(out.begin(), out.end(), missing_number);
    default:
      copy_times(array, start, out);
  }
  mark_missing(array, start, out);
}

}  // namespace

ColumnKind kind_of(const arrow::DataType& type) {
  if (arrow::is_integer(type.id())) return ColumnKind::integer;
  if (arrow::is_floating(type.id()) || arrow::is_decimal(type.id())) return ColumnKind::real;
  switch (type.id()) {
    case arrow::Type::BOOL:
      return ColumnKind::boolean;
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
      return ColumnKind::time;
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return ColumnKind::text;
    case arrow::Type::DICTIONARY:
      return kind_of(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::NA:
      return ColumnKind::empty;
    default:
      return ColumnKind::unsupported;
  }
}

bool holds_dates(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY)
    return holds_dates(*static_cast<const arrow::DictionaryType&>(type).value_type());
  return type.id() == arrow::Type::TIMESTAMP || type.id() == arrow::Type::DATE32 ||
         type.id() == arrow::Type::DATE64;
}

NumberReader::NumberReader(std::shared_ptr<const arrow::ChunkedArray> column) : column_(std::move(column)) {
  const ColumnKind kind = kind_of(*column_->type());
  if (!is_numeric(kind) && kind != ColumnKind::empty) {
    fail("a column of type {} was read as numbers", column_->type()->ToString());
  }
}

void NumberReader::read(std::span<double> next_rows) {
  while (!next_rows.empty()) {
    if (chunk_ >= column_->num_chunks()) fail("read beyond the end of a column");
    const arrow::Array& chunk = *column_->chunk(chunk_);
    const std::int64_t left = chunk.length() - row_in_chunk_;
    if (left == 0) {
      ++chunk_;
      row_in_chunk_ = 0;
      continue;
    }
    const auto count = std::min(next_rows.size(), static_cast<std::size_t>(left));
    copy_numbers(chunk, row_in_chunk_, next_rows.first(count));
    row_in_chunk_ += static_cast<std::int64_t>(count);
    next_rows = next_rows.subspan(count);
  }
}

namespace {

std::shared_ptr<const arrow::ChunkedArray> not_owned(const arrow::ChunkedArray& column) {
  return {std::shared_ptr<void>(), &column};
}

}  // namespace

std::vector<double> read_numbers(const arrow::ChunkedArray& column) {
  std::vector<double> numbers(static_cast<std::size_t>(column.length()));
  NumberReader(not_owned(column)).read(numbers);
  return numbers;
}

void each_block(const arrow::ChunkedArray& column,
                const std::function<void(std::span<const double> numbers)>& take) {
  std::array<double, 1024> block;
  NumberReader reader(not_owned(column));
  for (std::int64_t first = 0; first < column.length(); first += std::ssize(block)) {
    const auto numbers = std::span(block).first(
        static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(block), column.length() - first)));
    reader.read(numbers);
    take(numbers);
  }
}

std::int64_t count_missing(const arrow::ChunkedArray& column) {
  if (kind_of(*column.type()) != ColumnKind::real) return column.null_count();
  std::int64_t missing = 0;
  each_block(column, [&](std::span<const double> numbers) {
    missing += std::ranges::count_if(numbers, [](double x) { return std::isnan(x); });
  });
  return missing;
}

}  // namespace stoker
