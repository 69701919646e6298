#include "config/document.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "config/quote.h"

namespace stoker::config {
namespace {

int line_at(std::string_view text, std::size_t position) {
  return 1 + static_cast<int>(
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

// Length of the well-formed UTF-8 character at `position`, or 0 (Unicode 15, table 3-7).
std::size_t character_length(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return position + i < text.size() ? static_cast<unsigned char>(text[position + i]) : 0U;
  };
  const auto between = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return between(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return between(1, low, high) && between(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return between(1, low, high) && between(2, 0x80, 0xBF) && between(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return (code < 0x20 && character != '\n' && character != '\r' && character != '\t') || code == 0x7F;
}

}  // namespace

void refuse_document(const std::string& name, int line, std::string_view message) {
  refuse("{}:{}: {}", name, line, message);
}

std::string_view checked_text(std::string_view text, const std::string& name, const Bounds& bounds) {
  if (text.size() > bounds.bytes) {
    refuse("{}: the document takes {}, more than the {} allowed", name, human_bytes(text.size()),
           human_bytes(bounds.bytes));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    if (length == 0) refuse_document(name, line_at(text, i), "not valid UTF-8 text; save the file as UTF-8");
    if (is_control(text[i])) {
      refuse_document(name, line_at(text, i),
                      fmt::format("a document must not contain the control character 0x{:02x}",
                                  static_cast<unsigned>(static_cast<unsigned char>(text[i]))));
    }
    i += length;
  }
  return text;
}

bool Builder::expects_key() const {
  return !open_.empty() && open_.back().container.get_if<Value::Map>() != nullptr &&
         !open_.back().has_pending;
}

void Builder::key(const std::string& text, int line) {
  Open& top = open_.back();
  if (text.find('\0') != std::string::npos) refuse_at(line, "a key contains a NUL character");
  const auto [place, is_new] = top.lines_of_keys.emplace(text, line);
  if (!is_new) {
    refuse_at(line, fmt::format("the key {} was already given on line {}", in_quotes(text), place->second));
  }
  top.pending_key = text;
  top.pending_line = line;
  top.has_pending = true;
}

int Builder::line_of_key(int otherwise) const {
  return !open_.empty() && open_.back().has_pending ? open_.back().pending_line : otherwise;
}

void Builder::put(Value value) {
  const std::string* text = value.get_if<std::string>();
  if (text != nullptr && text->find('\0') != std::string::npos) {
    refuse_at(value.line(), "a text value contains a NUL character");
  }
  count(1, value.line());
  place(std::move(value));
}

void Builder::open(Value empty_container) {
  count(1, empty_container.line());
  check_depth(depth() + 1, empty_container.line());
  open_.emplace_back();
  open_.back().container = std::move(empty_container);
}

const Value& Builder::close() {
  Value finished = std::move(open_.back().container);
  open_.pop_back();
  place(std::move(finished));
  return *last_;
}

void Builder::place(Value value) {
  if (open_.empty()) {
    root_ = std::move(value);
    last_ = &root_;
    return;
  }
  Open& top = open_.back();
  if (auto* list = top.container.get_if<Value::List>()) {
    list->push_back(std::move(value));
    last_ = &list->back();
    return;
  }
  auto* map = top.container.get_if<Value::Map>();
  map->push_back({std::move(top.pending_key), top.pending_line, std::move(value)});
  top.has_pending = false;
  last_ = &map->back().value;
}

void Builder::count(std::size_t values, int line) {
  values_ += values;
  if (values_ > bounds_.values) {
    refuse_at(line, fmt::format("the document contains more than {} values once its aliases are expanded",
                                human_count(bounds_.values)));
  }
}

void Builder::check_depth(int depth, int line) const {
  if (depth > bounds_.depth) {
    refuse_at(line, fmt::format("lists and maps are nested more than {} levels deep", bounds_.depth));
  }
}

Value parse_document(std::string_view text, const std::string& name, const Bounds& bounds) {
  const std::size_t first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  const bool is_json = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  return is_json ? parse_json(text, name, bounds) : parse_yaml(text, name, bounds);
}

Value load_document(const std::filesystem::path& path, const Bounds& bounds) {
  const std::string text = read_file(path, bounds.bytes);
  const std::string name = path.string();
  Value document =
      path.extension() == ".json" ? parse_json(text, name, bounds) : parse_yaml(text, name, bounds);
  if (document.is_null()) refuse("{}: the document is empty", name);
  return document;
}

}  // namespace stoker::config
