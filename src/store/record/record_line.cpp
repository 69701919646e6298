#include "store/record/record_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace stoker {
namespace {

constexpr int deepest = 16;
constexpr std::size_t longest_plain_text = 4'096;
constexpr std::size_t longest_plain_list = 100;

// Reads JSON from the front to the back. Every function is false, or empty, for what it does not know.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : text_(text) { skip_space(); }

  bool ended() const { return at_ == text_.size(); }

  // `read` is called with each key and has to take its value.
  template <class Read>
  bool object(Read read) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view key;
      if (!plain_text(key) || !take(':') || !read(key)) return false;
    } while (take(','));
    return take('}');
  }

  template <class Read>
  bool list(Read read, std::size_t longest = longest_plain_list) {
    if (!take('[')) return false;
    if (take(']')) return true;
    std::size_t count = 0;
    do {
      if (++count > longest || !read()) return false;
    } while (take(','));
    return take(']');
  }

  bool text(std::string& value) {
    std::string_view found;
    if (!plain_text(found) || found.size() > longest_plain_text) return false;
    value = found;
    return true;
  }

  // null is how JSON writes a number that is not finite.
  bool number(double& value) {
    const std::string_view word = scalar();
    if (word == "null") {
      value = std::numeric_limits<double>::quiet_NaN();
      return true;
    }
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    return read.ec == std::errc() && read.ptr == word.data() + word.size() && std::isfinite(value);
  }

  template <class Whole>
  bool whole(Whole& value) {
    const std::string_view word = scalar();
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    return read.ec == std::errc() && read.ptr == word.data() + word.size() && value >= 0;
  }

  bool anything(int depth = 0) {
    if (ended() || depth > deepest) return false;
    const char c = text_[at_];
    if (c == '{') return object([&](std::string_view) { return anything(depth + 1); });
    if (c == '[') return list([&] { return anything(depth + 1); }, text_.size());
    if (c == '"') {
      if (!skip_text()) return false;
      skip_space();
      return true;
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
      double unused = 0;
      return number(unused);
    }
    const std::string_view word = scalar();
    return word == "true" || word == "false" || word == "null";
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  bool take(char wanted) {
    if (ended() || text_[at_] != wanted) return false;
    ++at_;
    skip_space();
    return true;
  }

  // Without anything that JSON writes in another way than it is meant, or that might not be UTF-8.
  bool plain_text(std::string_view& value) {
    const std::size_t begin = at_ + 1;
    if (ended() || text_[at_] != '"' || !skip_text()) return false;
    value = text_.substr(begin, at_ - 1 - begin);
    skip_space();
    return std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  }

  bool skip_text() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return true;
      }
    }
    return false;
  }

  std::string_view scalar() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(",:}] \t\r\n\"{[", at_), text_.size());
    const std::string_view word = text_.substr(begin, at_ - begin);
    skip_space();
    return word;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool read_metric(JsonText& from, RunRecord::Result& result) {
  auto& [name, value] = result.metrics.emplace_back();
  return from.object([&, &name = name, &value = value](std::string_view key) {
    if (key == "name") return from.text(name);
    return key == "value" ? from.number(value) : from.anything();
  });
}

bool read_result(JsonText& from, RunRecord& record) {
  RunRecord::Result& result = record.results.emplace_back();
  return from.object([&](std::string_view key) {
    if (key == "card") return from.text(result.card);
    if (key == "rows") return from.whole(result.rows);
    return key == "metrics" ? from.list([&] { return read_metric(from, result); }) : from.anything();
  });
}

// Those of a run that has ended.
bool read_status(JsonText& from, RunRecord& record) {
  std::string name;
  if (!from.text(name)) return false;
  for (const RunStatus status : {RunStatus::finished, RunStatus::failed, RunStatus::interrupted}) {
    if (name != status_name(status)) continue;
    record.status = status;
    return true;
  }
  return false;
}

}  // namespace

std::optional<RunRecord> line_of_record(std::string_view text) {
  JsonText from(text);
  RunRecord record;
  record.format = 0;
  const bool is_plain = from.object([&](std::string_view key) {
    if (key == "format") return from.whole(record.format);
    if (key == "name") return from.text(record.name);
    if (key == "status") return read_status(from, record);
    if (key == "error") return from.text(record.error);
    if (key == "started") return from.text(record.started);
    if (key == "seconds") return from.number(record.seconds) && record.seconds >= 0;
    if (key == "results") return from.list([&] { return read_result(from, record); });
    return from.anything();
  });
  const bool is_whole = is_plain && from.ended() && record.status != RunStatus::running;
  if (!is_whole || record.format != RunRecord().format) return std::nullopt;
  return record;
}

}  // namespace stoker
