#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "data/csv/csv_numbers.h"

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

// The value of eight digits, which are the bytes of one word (Lemire, Number parsing at a gigabyte per
// second, 2021).
std::uint64_t value_of_eight_digits(std::uint64_t word) {
  word = word * 10 + (word >> 8U);
  constexpr std::uint64_t mask = 0x000000ff000000ffU;
  constexpr std::uint64_t low = 0x000f424000000064U;   // 100 + (1,000,000 << 32)
  constexpr std::uint64_t high = 0x0000271000000001U;  // 1 + (10,000 << 32)
  return ((word & mask) * low + ((word >> 16U) & mask) * high) >> 32U;
}
static_assert(std::endian::native == std::endian::little, "eight digits are read as a little-endian word");

constexpr std::array<std::uint64_t, 9> whole_powers_of_ten{1,       10,        100,        1'000,      10'000,
                                                           100'000, 1'000'000, 10'000'000, 100'000'000};

// Eight characters at a time. How many of them are digits is different from number to number, so nothing
// branches by it but the question whether all are.
const char* take_digits(const char* text, std::uint64_t& mantissa) {
  while (true) {
    std::uint64_t word = 0;
    std::memcpy(&word, text, sizeof(word));
    word ^= 0x3030303030303030U;  // of digits, their values
    const std::uint64_t others = (word | (word + 0x7676767676767676U)) & 0x8080808080808080U;
    const auto bits = static_cast<unsigned>(std::countr_zero(others)) & ~7U;  // that digits take
    const std::size_t digits = bits / 8;
    const std::uint64_t shifted = bits == 0 ? 0 : word << (64 - bits);  // zeros before them
    mantissa = mantissa * whole_powers_of_ten[digits] + value_of_eight_digits(shifted);
    text += digits;
    if (digits < 8) return text;
  }
}

__extension__ using Wide = unsigned __int128;

// 1 / 5^n for n = 1 … 27, the nearest above in 128 bits, of which the first is 1.
constexpr std::size_t most_fifths = 27;
constexpr std::array<Wide, most_fifths + 1> fifths = [] {
  std::array<Wide, most_fifths + 1> all{};
  std::uint64_t divisor = 1;
  for (std::size_t n = 1; n <= most_fifths; ++n) {
    divisor *= 5;
    Wide rest = (Wide{1} << static_cast<unsigned>(std::bit_width(divisor))) - divisor;
    Wide quotient = 1;
    for (int bit = 0; bit < 127; ++bit) {
      rest <<= 1U;
      quotient <<= 1U;
      if (rest < divisor) continue;
      rest -= divisor;
      quotient |= 1U;
    }
    all[n] = quotient + 1;
  }
  return all;
}();

// mantissa / 10^n, rounded to the nearest double, of two to the even one (Eisel and Lemire, as in the paper
// above; for these n the product of 192 bits always decides). `mantissa` is not 0.
double divided_by_power_of_ten(std::uint64_t mantissa, std::size_t n) {
  const auto zeros = static_cast<unsigned>(std::countl_zero(mantissa));
  mantissa <<= zeros;
  const Wide first = Wide{mantissa} * static_cast<std::uint64_t>(fifths[n] >> 64U);
  auto high = static_cast<std::uint64_t>(first >> 64U);
  auto low = static_cast<std::uint64_t>(first);
  if ((high & 0x1ffU) == 0x1ffU) {
    const auto more =
        static_cast<std::uint64_t>((Wide{mantissa} * static_cast<std::uint64_t>(fifths[n])) >> 64U);
    low += more;
    if (low < more) ++high;
  }
  const auto top = static_cast<unsigned>(high >> 63U);
  const unsigned shift = top + 9;
  std::uint64_t rounded = high >> shift;  // with one bit more than a double has
  // Halfway between two doubles, exactly.
  if (low <= 1 && n <= 4 && (rounded & 3U) == 1 && (rounded << shift) == high) rounded &= ~std::uint64_t{1};
  rounded = (rounded + (rounded & 1U)) >> 1U;
  constexpr int bias = 1023;
  int exponent =
      ((217'706 * -static_cast<int>(n)) >> 16) + 63 + bias + static_cast<int>(top) - static_cast<int>(zeros);
  if (rounded >> 53U != 0) {
    rounded >>= 1U;
    ++exponent;
  }
  const std::uint64_t bits =
      (rounded & ((std::uint64_t{1} << 52U) - 1)) | (static_cast<std::uint64_t>(exponent) << 52U);
  return std::bit_cast<double>(bits);
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
  text = take_digits(text, mantissa);
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
  if (digits <= 19 && mantissa != 0 && exponent < 0 && exponent >= -static_cast<int>(most_fifths)) {
    const double quotient = divided_by_power_of_ten(mantissa, static_cast<std::size_t>(-exponent));
    value = negative ? -quotient : quotient;
    return text;
  }
  const auto [end, error] = std::from_chars(start, text, value);
  return error == std::errc() && end == text ? text : nullptr;
}

}  // namespace stoker
