#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace stoker::config {

struct Entry;

// A piece of a document that still knows the line it came from. YAML and JSON become the same thing.
class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::vector<Entry>;  // in the document's order; keys are unique

  Value();
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  Value(bool value, int line = 0) : content_(value), line_(line) {}
  Value(std::int64_t value, int line = 0) : content_(value), line_(line) {}
  Value(int value, int line = 0) : content_(static_cast<std::int64_t>(value)), line_(line) {}
  Value(double value, int line = 0) : content_(value), line_(line) {}
  Value(std::string value, int line = 0) : content_(std::move(value)), line_(line) {}
  Value(const char* value, int line = 0) : content_(std::string(value)), line_(line) {}
  Value(List value, int line = 0) : content_(std::move(value)), line_(line) {}
  Value(Map value, int line = 0);

  bool is_null() const { return std::holds_alternative<std::monostate>(content_); }
  template <class Content>
  const Content* get_if() const {
    return std::get_if<Content>(&content_);
  }
  template <class Content>
  Content* get_if() {
    return std::get_if<Content>(&content_);
  }
  int line() const { return line_; }
  void set_line(int line) { line_ = line; }

  // What a person would call it in an error: "a list", "the text 'abc'", "the number 5".
  std::string describe() const;

  // For maps: the value under a key or null.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  // For maps (null becomes one): sets or replaces.
  void set(std::string_view key, Value value);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map> content_;
  int line_ = 0;
};

struct Entry {
  std::string key;
  int line = 0;
  Value value;
};

// Bounds on what a document may hold; anything above is refused quickly, aliases counted as expanded.
struct Bounds {
  std::size_t bytes = 4U << 20;
  std::size_t values = 200'000;
  int depth = 64;
};

// Reads YAML or JSON, told apart by the file's name (.json) or, for parse_document, by the first
// character. Syntax errors, equal keys and exceeded bounds are refused with name:line; load_document also
// refuses a file that holds nothing.
Value load_document(const std::filesystem::path& path, const Bounds& bounds = {});
Value parse_document(std::string_view text, const std::string& name, const Bounds& bounds = {});
Value parse_yaml(std::string_view text, const std::string& name, const Bounds& bounds = {});
Value parse_json(std::string_view text, const std::string& name, const Bounds& bounds = {});

nlohmann::json to_json(const Value& value);
Value from_json(const nlohmann::json& json);
std::string to_yaml(const Value& value);

// cards.model.config.epochs=5: sets a dotted path in a document; the text behind '=' is read as YAML.
// Lists are addressed by number. A part of the path that is missing is made as a map.
void set_path(Value& document, std::string_view assignment);

}  // namespace stoker::config
