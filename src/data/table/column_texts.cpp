#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "base/error.h"
#include "base/text/nan_sign.h"
#include "base/text/trimmed.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

template <class ArrowArray>
void view_texts(const arrow::Array& array, TextValues& texts) {
  const auto& strings = static_cast<const ArrowArray&>(array);
  for (std::int64_t row = 0; row < array.length(); ++row) {
    texts.missing.push_back(strings.IsNull(row));
    texts.values.push_back(strings.IsNull(row) ? std::string_view() : strings.GetView(row));
  }
}

// Numbers that repeat themselves, as those asked for as text do, are written once a chunk.
void write_texts(const arrow::Array& array, TextValues& texts) {
  const std::vector<double> numbers = read_numbers(arrow::ChunkedArray(arrow::MakeArray(array.data())));
  std::unordered_map<double, std::string_view> written;
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

template <class TextAt>
void write_each(const arrow::Array& array, TextValues& texts, TextAt text_at) {
  for (std::int64_t row = 0; row < array.length(); ++row) {
    texts.missing.push_back(array.IsNull(row));
    texts.values.push_back(array.IsNull(row) ? std::string_view() : texts.written.emplace_back(text_at(row)));
  }
}

// Beyond 2^53 different whole numbers are the same double, so they are written from themselves.
template <class ArrowArray>
void write_integers(const arrow::Array& array, TextValues& texts) {
  const auto& whole = static_cast<const ArrowArray&>(array);
  write_each(array, texts, [&](std::int64_t row) { return std::to_string(whole.Value(row)); });
}

// Whole digits with the point `scale` digits from their end, or as many zeros behind them.
std::string with_point(std::string digits, int scale) {
  if (scale <= 0) return digits.append(static_cast<std::size_t>(-scale), '0');
  const auto fraction = static_cast<std::size_t>(scale);
  const std::size_t sign = digits.front() == '-' ? 1 : 0;
  if (digits.size() - sign <= fraction) digits.insert(sign, fraction + 1 - (digits.size() - sign), '0');
  digits.insert(digits.size() - fraction, ".");
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

// Up to 15 digits a double tells all numbers apart, and gives the text that the same number has in a column
// of doubles; longer ones are written from themselves.
template <class Decimal>
std::string decimal_text(const Decimal& number, int scale) {
  constexpr std::size_t digits_of_a_double = 15;
  std::string digits = number.ToIntegerString();
  if (digits.size() <= digits_of_a_double) return number_text(number.ToDouble(scale));
  return with_point(std::move(digits), scale);
}

template <class ArrowArray, class Decimal>
void write_decimals(const arrow::Array& array, TextValues& texts) {
  const auto& decimals = static_cast<const ArrowArray&>(array);
  const int scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
  write_each(array, texts,
             [&](std::int64_t row) { return decimal_text(Decimal(decimals.GetValue(row)), scale); });
}

// Seconds with as many digits behind the point as the unit has. All types of time are 64-bit inside but for
// those that are coarse enough for a double.
template <class ArrowArray>
void write_times(const arrow::Array& array, arrow::TimeUnit::type unit, TextValues& texts) {
  const auto& times = static_cast<const ArrowArray&>(array);
  const int scale = 3 * static_cast<int>(unit);  // SECOND, MILLI, MICRO, NANO
  write_each(array, texts,
             [&](std::int64_t row) { return decimal_text(arrow::Decimal128(times.Value(row)), scale); });
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
      return write_integers<arrow::Int64Array>(array, texts);
    case arrow::Type::UINT64:
      return write_integers<arrow::UInt64Array>(array, texts);
    case arrow::Type::DECIMAL64:
      return write_decimals<arrow::Decimal64Array, arrow::Decimal64>(array, texts);
    case arrow::Type::DECIMAL128:
      return write_decimals<arrow::Decimal128Array, arrow::Decimal128>(array, texts);
    case arrow::Type::DECIMAL256:
      return write_decimals<arrow::Decimal256Array, arrow::Decimal256>(array, texts);
    case arrow::Type::TIMESTAMP:
      return write_times<arrow::TimestampArray>(
          array, static_cast<const arrow::TimestampType&>(*array.type()).unit(), texts);
    case arrow::Type::DURATION:
      return write_times<arrow::DurationArray>(
          array, static_cast<const arrow::DurationType&>(*array.type()).unit(), texts);
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

TextValues read_texts(std::shared_ptr<const arrow::ChunkedArray> column) {
  if (kind_of(*column->type()) == ColumnKind::unsupported) {
    fail("a column of type {} was read as text", column->type()->ToString());
  }
  TextValues texts;
  texts.values.reserve(static_cast<std::size_t>(column->length()));
  texts.missing.reserve(static_cast<std::size_t>(column->length()));
  for (const auto& chunk : column->chunks()) append_texts(*chunk, texts);
  texts.column = std::move(column);
  return texts;
}

std::optional<double> number_in(std::string_view text) {
  text = trimmed(text);
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
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), without_nan_sign(number));
  return {text.data(), end};
}

}  // namespace stoker
