#include "config/quote.h"

#include "base/text/text.h"

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
  std::string result = printable(text.substr(0, length));
  if (cut) result += "…";
  return result;
}

std::string in_quotes(std::string_view text) {
  return "'" + shown(text) + "'";
}

}  // namespace stoker::config
