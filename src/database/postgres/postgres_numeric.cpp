#include "database/postgres/postgres_numeric.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "database/postgres/big_endian.h"

// Digits of base 10,000, the first of which counts 10,000 to the power of `weight`.
namespace stoker::database {
namespace {

constexpr const char* damaged_numeric = "holds a numeric that is damaged";
constexpr std::uint16_t sign_minus = 0x4000;
constexpr std::uint16_t sign_nan = 0xC000;
constexpr std::uint16_t sign_infinity = 0xD000;
constexpr std::uint16_t sign_minus_infinity = 0xF000;
constexpr std::size_t header_bytes = 8;
constexpr std::int64_t exact_integers = std::int64_t{1} << 53;

void put(double value, std::byte* place) {
  std::memcpy(place, &value, sizeof(value));
}

// A whole number and a power of ten that doubles both hold exactly give the nearest double in one operation.
bool put_exact(std::string_view digits, int weight, bool is_negative, std::byte* place) {
  static constexpr std::array<double, 6> powers{1, 1e4, 1e8, 1e12, 1e16, 1e20};
  const int count = static_cast<int>(digits.size() / 2);
  const int exponent = weight - count + 1;  // of 10,000, behind the last digit
  if (count > 4 || exponent >= 6 || exponent <= -6) return false;
  std::int64_t whole = 0;
  for (int i = 0; i < count; ++i) whole = whole * 10'000 + big_endian<std::int16_t>(digits.data() + 2 * i);
  if (whole > exact_integers) return false;
  const auto number = static_cast<double>(is_negative ? -whole : whole);
  put(exponent >= 0 ? number * powers[static_cast<std::size_t>(exponent)]
                    : number / powers[static_cast<std::size_t>(-exponent)],
      place);
  return true;
}

void put_by_text(std::string_view digits, int weight, bool is_negative, std::byte* place) {
  std::string text = is_negative ? "-0" : "0";
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int digit = big_endian<std::int16_t>(digits.data() + i);
    for (int power = 1000; power > 0; power /= 10) text += static_cast<char>('0' + digit / power % 10);
  }
  const int exponent = 4 * (weight - static_cast<int>(digits.size() / 2) + 1);
  text += "e" + std::to_string(exponent);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    value = exponent > 0 ? (is_negative ? -1 : 1) * std::numeric_limits<double>::infinity() : 0;
  put(value, place);
}

}  // namespace

const char* decode_numeric(std::string_view bytes, std::byte* place) {
  if (bytes.size() < header_bytes) return damaged_numeric;
  const auto count = big_endian<std::uint16_t>(bytes.data());
  const int weight = big_endian<std::int16_t>(bytes.data() + 2);
  const auto sign = big_endian<std::uint16_t>(bytes.data() + 4);
  if (bytes.size() != header_bytes + 2 * std::size_t{count}) return damaged_numeric;
  const std::string_view digits = bytes.substr(header_bytes);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    if (big_endian<std::uint16_t>(digits.data() + i) > 9999) return damaged_numeric;
  }
  switch (sign) {
    case 0:
    case sign_minus:
      if (!put_exact(digits, weight, sign == sign_minus, place))
        put_by_text(digits, weight, sign == sign_minus, place);
      return nullptr;
    case sign_nan:
      put(std::numeric_limits<double>::quiet_NaN(), place);
      return nullptr;
    case sign_infinity:
    case sign_minus_infinity:
      put((sign == sign_infinity ? 1 : -1) * std::numeric_limits<double>::infinity(), place);
      return nullptr;
    default:
      return damaged_numeric;
  }
}

}  // namespace stoker::database
