#include "report/page/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace stoker {
namespace {

constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::uint8_t no_letter = 64;

// A cube has millions of letters, so that each is looked up and not searched for.
constexpr std::array<std::uint8_t, 256> values_of_letters = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_letter);
  for (std::size_t i = 0; i < base64_letters.size(); ++i)
    values[static_cast<unsigned char>(base64_letters[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

}  // namespace

// Three bytes become four letters; one or two that are left become as many and one, and signs that fill up.
std::string base64_of(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char* to = text.data();
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  for (std::size_t i = 0; i < bytes.size(); i += 3, to += 4) {
    const unsigned bits = byte(i) << 16U | byte(i + 1) << 8U | byte(i + 2);
    const std::size_t letters = std::min<std::size_t>(bytes.size() - i, 3) + 1;
    for (std::size_t letter = 0; letter < letters; ++letter)
      to[letter] = base64_letters[bits >> (18 - 6 * letter) & 63U];
  }
  return text;
}

bool is_base64_of(std::string_view text, std::size_t bytes) {
  if (text.size() != (bytes + 2) / 3 * 4) return false;
  const std::size_t padding = (3 - bytes % 3) % 3;
  const std::string_view letters = text.substr(0, text.size() - padding);
  return text.substr(letters.size()).find_first_not_of('=') == std::string_view::npos &&
         std::ranges::all_of(letters, [](char each) {
           return values_of_letters[static_cast<unsigned char>(each)] != no_letter;
         });
}

std::string bytes_of_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  unsigned bits = 0;
  int held = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    bits = bits << 6U | values_of_letters[static_cast<unsigned char>(letter)];
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(held) & 255U);
  }
  return bytes;
}

}  // namespace stoker
