#include "config/quote.h"

#include <fmt/format.h>

namespace stoker::config {
namespace {

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::string shown(std::string_view text, std::size_t longest) {
  std::size_t length = text.size();
  const bool cut = length > longest;
  if (cut) {
    length = longest;
    while (length > 0 && continues_character(text[length])) --length;
  }
  std::string result;
  for (const char byte : text.substr(0, length)) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '\n') {
      result += "\\n";
    } else if (byte == '\t') {
      result += "\\t";
    } else if (code < 0x20 || code == 0x7F) {
      result += fmt::format("\\x{:02x}", code);
    } else {
      result += byte;
    }
  }
  if (cut) result += "…";
  return result;
}

std::string in_quotes(std::string_view text) {
  return "'" + shown(text) + "'";
}

}  // namespace stoker::config
