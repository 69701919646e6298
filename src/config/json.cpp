#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/document.h"
#include "config/quote.h"

namespace stoker::config {
namespace {

// Walks over the text for the parser and keeps the line, which the parser's events do not carry.
struct Position {
  int line = 1;
  bool at_line_start = false;  // the last character read was a line's end

  // The parser reads one character past a number; it may be the line's end.
  int line_of_last_token() const { return at_line_start ? line - 1 : line; }
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* place, Position* position) : place_(place), position_(position) {}

  reference operator*() const { return *place_; }
  CountingIterator& operator++() {
    position_->at_line_start = *place_ == '\n';
    if (position_->at_line_start) ++position_->line;
    ++place_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return place_ == other.place_; }
  bool operator!=(const CountingIterator& other) const { return place_ != other.place_; }

 private:
  const char* place_;
  Position* position_;
};

class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonReader(const std::string& name, const Bounds& bounds, const Position& position)
      : builder_(name, bounds), position_(position) {}

  Value take() { return builder_.take(); }

  bool null() override {
    Value value;
    value.set_line(line());
    return put(std::move(value));
  }
  bool boolean(bool flag) override { return put(Value(flag, line())); }
  bool number_integer(std::int64_t whole) override { return put(Value(whole, line())); }
  bool number_unsigned(std::uint64_t whole) override {
    if (whole <= static_cast<std::uint64_t>(INT64_MAX))
      return put(Value(static_cast<std::int64_t>(whole), line()));
    return put(Value(static_cast<double>(whole), line()));
  }
  bool number_float(double number, const std::string&) override { return put(Value(number, line())); }
  bool string(std::string& text) override { return put(Value(std::move(text), line())); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool key(std::string& text) override {
    builder_.key(text, line());
    return true;
  }
  bool start_object(std::size_t) override {
    builder_.open(Value(Value::Map{}, line()));
    return true;
  }
  bool start_array(std::size_t) override {
    builder_.open(Value(Value::List{}, line()));
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …"
    std::string_view message = error.what();
    if (const auto column = message.find(", column "); column != std::string_view::npos) {
      message.remove_prefix(std::min(message.size(), message.find(": ", column) + 2));
    } else if (const auto name_end = message.find("] "); name_end != std::string_view::npos) {
      message.remove_prefix(name_end + 2);
    }
    builder_.refuse_at(line(), shown(message, 200));
  }

 private:
  int line() const { return position_.line_of_last_token(); }

  bool put(Value value) {
    builder_.put(std::move(value));
    return true;
  }
  bool close() {
    builder_.close();
    return true;
  }

  Builder builder_;
  const Position& position_;
};

Value from_json(const nlohmann::json& json, int depth_left) {
  if (depth_left < 0) refuse("a JSON value is nested more than {} levels deep", Bounds{}.depth);
  switch (json.type()) {
    case nlohmann::json::value_t::boolean:
      return Value(json.get<bool>());
    case nlohmann::json::value_t::number_integer:
      return Value(json.get<std::int64_t>());
    case nlohmann::json::value_t::number_unsigned: {
      const auto whole = json.get<std::uint64_t>();
      if (whole > static_cast<std::uint64_t>(INT64_MAX)) return Value(static_cast<double>(whole));
      return Value(static_cast<std::int64_t>(whole));
    }
    case nlohmann::json::value_t::number_float:
      return Value(json.get<double>());
    case nlohmann::json::value_t::string:
      return Value(json.get<std::string>());
    case nlohmann::json::value_t::array: {
      Value::List list;
      for (const nlohmann::json& item : json) list.push_back(from_json(item, depth_left - 1));
      return Value(std::move(list));
    }
    case nlohmann::json::value_t::object: {
      Value::Map map;
      for (const auto& [key, item] : json.items()) map.push_back({key, 0, from_json(item, depth_left - 1)});
      return Value(std::move(map));
    }
    default:
      return Value();
  }
}

}  // namespace

Value parse_json(std::string_view text, const std::string& name, const Bounds& bounds) {
  text = checked_text(text, name, bounds);
  Position position;
  JsonReader reader(name, bounds, position);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &position),
                            CountingIterator(text.data() + text.size(), &position), &reader);
  return reader.take();
}

nlohmann::json to_json(const Value& value) {
  if (const bool* flag = value.get_if<bool>()) return *flag;
  if (const std::int64_t* whole = value.get_if<std::int64_t>()) return *whole;
  if (const double* number = value.get_if<double>()) return *number;
  if (const std::string* text = value.get_if<std::string>()) return *text;
  if (const Value::List* list = value.get_if<Value::List>()) {
    nlohmann::json result = nlohmann::json::array();
    for (const Value& item : *list) result.push_back(to_json(item));
    return result;
  }
  if (const Value::Map* map = value.get_if<Value::Map>()) {
    nlohmann::json result = nlohmann::json::object();
    for (const Entry& entry : *map) result[entry.key] = to_json(entry.value);
    return result;
  }
  return nullptr;
}

Value from_json(const nlohmann::json& json) {
  return from_json(json, Bounds{}.depth);
}

}  // namespace stoker::config
