#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "data/csv_numbers.h"

namespace stoker {
namespace {

// Up to here a double holds every whole number and every power of ten exactly, so one multiplication or
// division rounds correctly (Clinger, How to read floating point numbers accurately, 1990).
constexpr std::uint64_t largest_exact = std::uint64_t{1} << 53;
constexpr std::array<double, 23> powers_of_ten{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

// Eight digits at once, as the bytes of one word (Lemire, Number parsing at a gigabyte per second, 2021).
bool eight_digits(std::uint64_t word) {
  return ((word & 0xf0f0f0f0f0f0f0f0U) | (((word + 0x0606060606060606U) & 0xf0f0f0f0f0f0f0f0U) >> 4U)) ==
         0x3333333333333333U;
}
std::uint64_t value_of_eight_digits(std::uint64_t word) {
  word -= 0x3030303030303030U;
  word = word * 10 + (word >> 8U);
  constexpr std::uint64_t mask = 0x000000ff000000ffU;
  constexpr std::uint64_t low = 0x000f424000000064U;   // 100 + (1,000,000 << 32)
  constexpr std::uint64_t high = 0x0000271000000001U;  // 1 + (10,000 << 32)
  return ((word & mask) * low + ((word >> 16U) & mask) * high) >> 32U;
}
static_assert(std::endian::native == std::endian::little, "eight digits are read as a little-endian word");

const char* take_digits(const char* text, std::uint64_t& mantissa) {
  std::uint64_t word = 0;
  std::memcpy(&word, text, sizeof(word));
  if (eight_digits(word)) {
    mantissa = mantissa * 100'000'000 + value_of_eight_digits(word);
    text += 8;
  }
  while (is_digit(*text)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*text++ - '0');
  return text;
}

// The digits behind an e; null when there are none or absurdly many.
const char* take_exponent(const char* text, int& exponent) {
  const bool negative = *text == '-';
  if (negative || *text == '+') ++text;
  const char* const begin = text;
  int value = 0;
  while (is_digit(*text) && text - begin < 5) value = value * 10 + (*text++ - '0');
  if (text == begin || is_digit(*text)) return nullptr;
  exponent += negative ? -value : value;
  return text;
}

}  // namespace

const char* parse_plain_number(const char* text, double& value, bool& real) {
  const char* const start = text;
  const bool negative = *text == '-';
  if (negative) ++text;
  std::uint64_t mantissa = 0;
  const char* const whole = text;
  while (is_digit(*text)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*text++ - '0');
  std::ptrdiff_t digits = text - whole;
  if (digits == 0) return nullptr;
  int exponent = 0;
  bool fraction = false;
  if (*text == '.') {
    const char* const begin = ++text;
    text = take_digits(text, mantissa);
    if (text == begin) return nullptr;
    digits += text - begin;
    exponent = -static_cast<int>(text - begin);
    fraction = true;
  }
  if (*text == 'e' || *text == 'E') {
    text = take_exponent(text + 1, exponent);
    if (text == nullptr) return nullptr;
    fraction = true;
  }
  const bool exact = digits <= 19 && mantissa <= largest_exact;
  if (!fraction && !exact) return nullptr;
  real = real || fraction;
  if (exact && exponent >= -22 && exponent <= 22) {
    const auto number = static_cast<double>(mantissa);
    const double scaled = exponent < 0 ? number / powers_of_ten[static_cast<std::size_t>(-exponent)]
                                       : number * powers_of_ten[static_cast<std::size_t>(exponent)];
    value = negative ? -scaled : scaled;
    return text;
  }
  const auto [end, error] = std::from_chars(start, text, value);
  return error == std::errc() && end == text ? text : nullptr;
}

}  // namespace stoker
