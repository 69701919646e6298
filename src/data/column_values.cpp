#include "data/column_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_map>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include "base/error.h"

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
void copy_values(const arrow::Array& array, std::int64_t start, std::span<double> out, double unit = 1) {
  const auto* values = static_cast<const ArrowArray&>(array).raw_values() + start;
  if (unit == 1) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(values[i]);
  } else {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(values[i]) * unit;
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

double seconds_of(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1e-3;
    case arrow::TimeUnit::MICRO:
      return 1e-6;
    default:
      return 1e-9;
  }
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
      return copy_values<arrow::Date32Array>(array, start, out, 86'400);
    case arrow::Type::DATE64:
      return copy_values<arrow::Date64Array>(array, start, out, 1e-3);
    case arrow::Type::TIME32:
      return copy_values<arrow::Time32Array>(array, start, out,
                                             seconds_of(static_cast<const arrow::Time32Type&>(type).unit()));
    case arrow::Type::TIME64:
      return copy_values<arrow::Time64Array>(array, start, out,
                                             seconds_of(static_cast<const arrow::Time64Type&>(type).unit()));
    case arrow::Type::DURATION:
      return copy_values<arrow::DurationArray>(
          array, start, out, seconds_of(static_cast<const arrow::DurationType&>(type).unit()));
    default:
      return copy_values<arrow::TimestampArray>(
          array, start, out, seconds_of(static_cast<const arrow::TimestampType&>(type).unit()));
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

template <class ArrowArray>
void view_texts(const arrow::Array& array, TextValues& texts) {
  const auto& strings = static_cast<const ArrowArray&>(array);
  for (std::int64_t row = 0; row < array.length(); ++row) {
    texts.missing.push_back(strings.IsNull(row));
    texts.values.push_back(strings.IsNull(row) ? std::string_view() : strings.GetView(row));
  }
}

void write_texts(const arrow::Array& array, TextValues& texts) {
  std::vector<double> numbers(static_cast<std::size_t>(array.length()));
  copy_numbers(array, 0, numbers);
  std::unordered_map<double, std::string_view>
      written;  // columns that are asked for as text repeat themselves
  for (const double number : numbers) {
    texts.missing.push_back(std::isnan(number));
    if (std::isnan(number)) {
      texts.values.emplace_back();
      continue;
    }
    const auto [found, is_new] = written.try_emplace(number);
    if (is_new) found->second = texts.written.emplace_back(number_text(number));
    texts.values.push_back(found->second);
  }
}

// int64 beyond 2^53 would collapse to the same double, so whole numbers are written from themselves.
void write_integers(const arrow::Int64Array& array, TextValues& texts) {
  for (std::int64_t row = 0; row < array.length(); ++row) {
    texts.missing.push_back(array.IsNull(row));
    texts.values.push_back(array.IsNull(row) ? std::string_view()
                                             : texts.written.emplace_back(std::to_string(array.Value(row))));
  }
}

void write_booleans(const arrow::BooleanArray& array, TextValues& texts) {
  for (std::int64_t row = 0; row < array.length(); ++row) {
    texts.missing.push_back(array.IsNull(row));
    texts.values.push_back(array.IsNull(row) ? "" : array.Value(row) ? "true" : "false");
  }
}

void append_texts(const arrow::Array& array, TextValues& texts) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
      return view_texts<arrow::StringArray>(array, texts);
    case arrow::Type::LARGE_STRING:
      return view_texts<arrow::LargeStringArray>(array, texts);
    case arrow::Type::STRING_VIEW:
      return view_texts<arrow::StringViewArray>(array, texts);
    case arrow::Type::INT64:
      return write_integers(static_cast<const arrow::Int64Array&>(array), texts);
    case arrow::Type::BOOL:
      return write_booleans(static_cast<const arrow::BooleanArray&>(array), texts);
    case arrow::Type::DICTIONARY:
      break;
    default:
      return write_texts(array, texts);
  }
  const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
  TextValues dictionary;
  append_texts(*encoded.dictionary(), dictionary);
  // Written texts move one by one into the caller's deque, which leaves short ones at a new address.
  if (!dictionary.written.empty()) {
    for (std::string_view& value : dictionary.values) value = texts.written.emplace_back(value);
  }
  for (std::int64_t row = 0; row < array.length(); ++row) {
    const auto index = encoded.IsNull(row) ? 0 : static_cast<std::size_t>(encoded.GetValueIndex(row));
    const bool missing = encoded.IsNull(row) || dictionary.missing.at(index) != 0;
    texts.missing.push_back(missing);
    texts.values.push_back(missing ? std::string_view() : dictionary.values[index]);
  }
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

NumberReader::NumberReader(const arrow::ChunkedArray& column) : column_(&column) {
  const ColumnKind kind = kind_of(*column.type());
  if (!is_numeric(kind) && kind != ColumnKind::empty) {
    fail("a column of type {} was read as numbers", column.type()->ToString());
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

std::vector<double> read_numbers(const arrow::ChunkedArray& column) {
  std::vector<double> numbers(static_cast<std::size_t>(column.length()));
  NumberReader(column).read(numbers);
  return numbers;
}

std::int64_t count_missing(const arrow::ChunkedArray& column) {
  if (kind_of(*column.type()) != ColumnKind::real) return column.null_count();
  const std::vector<double> numbers = read_numbers(column);
  return std::count_if(numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); });
}

TextValues read_texts(const arrow::ChunkedArray& column) {
  if (kind_of(*column.type()) == ColumnKind::unsupported) {
    fail("a column of type {} was read as text", column.type()->ToString());
  }
  TextValues texts;
  texts.values.reserve(static_cast<std::size_t>(column.length()));
  texts.missing.reserve(static_cast<std::size_t>(column.length()));
  for (const auto& chunk : column.chunks()) append_texts(*chunk, texts);
  return texts;
}

std::optional<double> number_in(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string shortened(std::string_view text) {
  constexpr std::size_t most_bytes = 1000;
  if (text.size() <= most_bytes) return std::string(text);
  std::size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U)
    --end;  // not inside a character
  return std::string(text.substr(0, end)) + "…";
}

std::string number_text(double number) {
  if (number == 0) return "0";  // -0 too
  std::array<char, 32> text{};
  // Plain digits as far as a double counts whole numbers exactly, else the shortest form.
  if (std::abs(number) < 9e15 && number == std::trunc(number)) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

}  // namespace stoker
