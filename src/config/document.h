#pragma once
// What the readers of YAML and JSON share; used inside this room alone.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/value.h"

namespace stoker::config {

// Refuses with "name:line: message".
[[noreturn]] void refuse_document(const std::string& name, int line, std::string_view message);

// Refuses text that is too large, is not UTF-8 or holds control characters; cuts a byte order mark off.
std::string_view checked_text(std::string_view text, const std::string& name, const Bounds& bounds);

// A plain scalar by the core schema of YAML 1.2; what is neither null, boolean nor number is text.
Value plain_scalar(const std::string& text, int line);

// Puts a document together from what its reader comes across, and holds it to the bounds on the way, so
// that nothing larger than allowed is ever built.
class Builder {
 public:
  Builder(const std::string& name, const Bounds& bounds) : name_(name), bounds_(bounds) {}

  // Whether the next scalar is a key.
  bool expects_key() const;
  void key(const std::string& text, int line);
  // The line of the key whose value comes next, or `otherwise` where there is none.
  int line_of_key(int otherwise) const;
  void put(Value value);
  void open(Value empty_container);
  const Value& close();  // where the container now stands, until the next call
  const Value& last() const { return *last_; }
  Value take() { return std::move(root_); }

  int depth() const { return static_cast<int>(open_.size()); }
  void count(std::size_t values, int line);
  void check_depth(int depth, int line) const;
  [[noreturn]] void refuse_at(int line, std::string_view message) const {
    refuse_document(name_, line, message);
  }

 private:
  struct Open {
    Value container;
    std::unordered_map<std::string, int> lines_of_keys;
    std::string pending_key;
    int pending_line = 0;
    bool has_pending = false;
  };

  void place(Value value);

  const std::string& name_;
  const Bounds& bounds_;
  std::vector<Open> open_;
  Value root_;
  const Value* last_ = &root_;
  std::size_t values_ = 0;
};

}  // namespace stoker::config
