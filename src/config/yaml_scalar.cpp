#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "config/document.h"

namespace stoker::config {
namespace {

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

// Digits of the base alone, at least one. What does not fit 64 bits becomes a floating-point number, which
// is out of the range of every integer setting.
std::optional<Value> integer_in_base(std::string_view digits, int base, bool negative, int line) {
  if (digits.empty()) return std::nullopt;
  std::int64_t whole = 0;
  double number = 0;
  bool fits = true;
  for (const char character : digits) {
    int digit = 99;
    if (is_digit(character)) digit = character - '0';
    if (character >= 'a' && character <= 'f') digit = character - 'a' + 10;
    if (character >= 'A' && character <= 'F') digit = character - 'A' + 10;
    if (digit >= base) return std::nullopt;
    number = number * base + digit;
    fits = fits && !__builtin_mul_overflow(whole, base, &whole) &&
           !__builtin_add_overflow(whole, negative ? -digit : digit, &whole);
  }
  if (fits) return Value(whole, line);
  if (base == 10) return std::nullopt;  // read as a decimal fraction, to the last bit
  return Value(number, line);
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool looks_like_float(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - start;
  };
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
  const std::size_t before_point = digits();
  std::size_t after_point = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    after_point = digits();
  }
  if (before_point + after_point == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

double to_double(const std::string& text) {
  const char* start = text.data() + (text[0] == '+' ? 1 : 0);
  double number = 0;
  const auto result = std::from_chars(start, text.data() + text.size(), number);
  // from_chars leaves too large and too small alike; strtod tells them apart.
  if (result.ec == std::errc::result_out_of_range) return std::strtod(text.c_str(), nullptr);
  return number;
}

std::optional<Value> special_number(std::string_view text, int line) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    return Value(std::numeric_limits<double>::quiet_NaN(), line);
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == ".inf" || text == ".Inf" || text == ".INF") return Value(negative ? -HUGE_VAL : HUGE_VAL, line);
  return std::nullopt;
}

}  // namespace

Value plain_scalar(const std::string& text, int line) {
  Value null;
  null.set_line(line);
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return null;
  if (text == "true" || text == "True" || text == "TRUE") return Value(true, line);
  if (text == "false" || text == "False" || text == "FALSE") return Value(false, line);
  const std::string_view all = text;
  std::optional<Value> number;
  if (all.starts_with("0x")) {
    number = integer_in_base(all.substr(2), 16, false, line);
  } else if (all.starts_with("0o")) {
    number = integer_in_base(all.substr(2), 8, false, line);
  } else {
    const bool has_sign = all[0] == '-' || all[0] == '+';
    number = integer_in_base(all.substr(has_sign ? 1 : 0), 10, all[0] == '-', line);
  }
  if (!number) number = special_number(all, line);
  if (!number && looks_like_float(all)) number = Value(to_double(text), line);
  return number ? *number : Value(text, line);
}

}  // namespace stoker::config
