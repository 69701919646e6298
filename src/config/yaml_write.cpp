#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "config/document.h"

namespace stoker::config {
namespace {

constexpr std::size_t widest_flow_list = 90;
constexpr std::size_t longest_simple_key = 1000;  // YAML's own limit is 1024

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Only text that no reader of YAML, 1.1 included, could take for something else is left without quotes.
bool is_safe_plain(const std::string& text) {
  if (text.empty() || text.size() > 200 || text.back() == ' ') return false;
  const char first = text.front();
  if (!is_letter_or_digit(first) && first != '_' && first != '/') return false;
  if (first >= '0' && first <= '9') return false;
  constexpr std::string_view others = "_-./ +@%()=";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool of_address = text[i] == ':' && i + 1 < text.size() && text[i + 1] == '/';
    if (!is_letter_or_digit(text[i]) && others.find(text[i]) == std::string_view::npos && !of_address)
      return false;
  }
  constexpr std::array<std::string_view, 6> old_booleans{"y", "n", "yes", "no", "on", "off"};
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (std::find(old_booleans.begin(), old_booleans.end(), lower) != old_booleans.end()) return false;
  return plain_scalar(text, 0).get_if<std::string>() != nullptr;
}

std::string double_quoted(const std::string& text) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (code < 0x20 || code == 0x7F) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(code));
    } else if (text.compare(i, 3, "\xEF\xBB\xBF") == 0) {  // a byte order mark would be dropped on reading
      result += "\\uFEFF";
      i += 2;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string text_of(const std::string& text) {
  return is_safe_plain(text) ? text : double_quoted(text);
}

std::string number_of(double number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  std::string digits = fmt::format("{}", number);
  // Without a point it would read back as a whole number.
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

bool is_container(const Value& value) {
  return value.get_if<Value::List>() != nullptr || value.get_if<Value::Map>() != nullptr;
}

std::string scalar(const Value& value) {
  if (const bool* flag = value.get_if<bool>()) return *flag ? "true" : "false";
  if (const std::int64_t* whole = value.get_if<std::int64_t>()) return fmt::format("{}", *whole);
  if (const double* number = value.get_if<double>()) return number_of(*number);
  if (const std::string* text = value.get_if<std::string>()) return text_of(*text);
  return "null";
}

// The value on one line, or "" where it needs more.
std::string on_one_line(const Value& value) {
  if (!is_container(value)) return scalar(value);
  if (const Value::Map* map = value.get_if<Value::Map>()) return map->empty() ? "{}" : "";
  std::string line = "[";
  for (const Value& item : *value.get_if<Value::List>()) {
    if (is_container(item)) return "";
    if (line.size() > 1) line += ", ";
    line += scalar(item);
    if (line.size() > widest_flow_list) return "";
  }
  return line + "]";
}

void write_block(const Value& value, std::size_t indent, std::string& out);

void write_after_key(const Value& value, std::size_t indent, std::string& out) {
  const std::string line = on_one_line(value);
  if (!line.empty()) {
    out += " " + line + "\n";
    return;
  }
  out += "\n";
  write_block(value, indent + 2, out);
}

void write_block(const Value& value, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  if (const Value::Map* map = value.get_if<Value::Map>()) {
    for (const Entry& entry : *map) {
      const std::string key = text_of(entry.key);
      out += key.size() > longest_simple_key ? margin + "? " + key + "\n" + margin + ":" : margin + key + ":";
      write_after_key(entry.value, indent, out);
    }
    return;
  }
  for (const Value& item : *value.get_if<Value::List>()) {
    const std::string line = on_one_line(item);
    if (!line.empty()) {
      out += margin + "- " + line + "\n";
      continue;
    }
    const std::size_t start = out.size();
    write_block(item, indent + 2, out);
    out[start + indent] = '-';  // "- key: …": the item's first line carries the dash
  }
}

}  // namespace

std::string to_yaml(const Value& value) {
  const std::string line = on_one_line(value);
  if (!line.empty()) return line + "\n";
  std::string out;
  write_block(value, 0, out);
  return out;
}

}  // namespace stoker::config
