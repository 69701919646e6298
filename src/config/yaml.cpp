#include <algorithm>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/text/text.h"
#include "config/document.h"
#include "config/quote.h"

namespace stoker::config {
namespace {

struct Size {
  std::size_t values = 0;
  std::size_t bytes = 0;
  int depth = 0;
};

Size size_of(const Value& value) {
  Size size{1, 0, 0};
  const auto add = [&size](const Value& part) {
    const Size more = size_of(part);
    size.values += more.values;
    size.bytes += more.bytes;
    size.depth = std::max(size.depth, more.depth);
  };
  if (const auto* text = value.get_if<std::string>()) size.bytes = text->size();
  if (const auto* list = value.get_if<Value::List>()) {
    for (const Value& item : *list) add(item);
    ++size.depth;
  }
  if (const auto* map = value.get_if<Value::Map>()) {
    for (const Entry& entry : *map) {
      size.bytes += entry.key.size();
      add(entry.value);
    }
    ++size.depth;
  }
  return size;
}

// yaml-cpp keeps the tokens of a whole list or map in brackets, some 200 bytes each, before its first
// event. Marks that a document within the bounds cannot hold are therefore counted beforehand. The counts
// take in marks inside of text as well, but there they are rare.
void refuse_crowded(std::string_view text, const std::string& name, const Bounds& bounds) {
  const std::size_t most = std::max<std::size_t>(bounds.values, 200'000);
  std::size_t separators = 0;  // at least one value each
  std::size_t others = 0;      // in halves; "key": "value" has six
  int line = 1;
  for (const char character : text) {
    switch (character) {
      case '\n':
        ++line;
        break;
      case '[':
      case '{':
      case ',':
        ++separators;
        break;
      case '"':
      case '\'':
        ++others;
        break;
      case ':':
      case '?':
      case '&':
      case '*':
      case '!':
        others += 2;
        break;
      default:
        break;
    }
    if (separators > most || others > 6 * most) {
      refuse_document(name, line,
                      fmt::format("the document contains more than {} values", human_count(most)));
    }
  }
}

// Where the scalar itself starts, behind the anchor and the tag that may stand before it.
std::size_t scalar_start(std::string_view text, std::size_t position) {
  while (position < text.size() && (text[position] == '&' || text[position] == '!')) {
    position = std::min(text.find_first_of(" \t\r\n", position), text.size());
    position = std::min(text.find_first_not_of(" \t\r\n", position), text.size());
  }
  return position;
}

// yaml-cpp takes the end of the file for the end of a quoted text when a line's end stands before it.
bool is_left_open(std::string_view text, std::size_t position) {
  position = scalar_start(text, position);
  const char quote = position < text.size() ? text[position] : ' ';
  if (quote != '"' && quote != '\'') return false;
  for (std::size_t i = position + 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 == text.size() || text[i + 1] != quote) return false;
      ++i;
    }
  }
  return true;
}

// yaml-cpp calls a container's start before it descends into it, so refusing there also bounds the
// recursion of its parser.
class YamlReader : public YAML::EventHandler {
 public:
  YamlReader(const std::string& name, const Bounds& bounds) : bounds_(bounds), builder_(name, bounds) {}

  Value take() { return builder_.take(); }

  // Only the last scalar can run into the end of the file.
  void check_last_quote(std::string_view text) const {
    if (last_scalar_.pos >= 0 && is_left_open(text, static_cast<std::size_t>(last_scalar_.pos))) {
      builder_.refuse_at(line_of(last_scalar_), "the quote that opens here is never closed");
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) {
      builder_.refuse_at(line_of(mark),
                         "the document ended before this line; a file can hold only one document");
    }
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.expects_key()) builder_.refuse_at(line_of(mark), "a key is empty; put it in quotes");
    Value null;
    // Where nothing stands, the mark is that of whatever comes next.
    null.set_line(builder_.line_of_key(line_of(mark)));
    put(std::move(null), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    last_scalar_ = mark;
    if (!builder_.expects_key()) return put(tagged(tag, text, line_of(mark)), anchor);
    if (text == "<<" && tag == "?") {
      builder_.refuse_at(line_of(mark), "merge keys (<<) are not supported; write the settings out");
    }
    if (anchor != YAML::NullAnchor) builder_.refuse_at(line_of(mark), "a key cannot carry an anchor");
    builder_.key(text, line_of(mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const int line = line_of(mark);
    if (builder_.expects_key()) builder_.refuse_at(line, "a key cannot be an alias");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) builder_.refuse_at(line, "an alias refers to the value that contains it");
    const Anchored& anchored = found->second;
    builder_.check_depth(builder_.depth() + anchored.size.depth, line);
    charge(anchored.size, line);
    builder_.put(anchored.value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value(Value::List{}, line_of(mark)), tag, "seq", anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value(Value::Map{}, line_of(mark)), tag, "map", anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Anchored {
    Value value;
    Size size;
  };

  static int line_of(const YAML::Mark& mark) { return mark.line + 1; }

  void open(Value container, const std::string& tag, std::string_view kind, YAML::anchor_t anchor) {
    const int line = container.line();
    if (builder_.expects_key())
      builder_.refuse_at(line, "found a list or map where a key should be; is a bracket left open?");
    if (!tag.empty() && tag != "?" && tag != "!" && tag != fmt::format("tag:yaml.org,2002:{}", kind)) {
      refuse_tag(tag, line);
    }
    builder_.open(std::move(container));
    anchors_of_open_.push_back(anchor);
  }

  void close() {
    const YAML::anchor_t anchor = anchors_of_open_.back();
    anchors_of_open_.pop_back();
    const Value& closed = builder_.close();
    if (anchor != YAML::NullAnchor) keep(anchor, closed);
  }

  void put(Value value, YAML::anchor_t anchor) {
    builder_.put(std::move(value));
    if (anchor != YAML::NullAnchor) keep(anchor, builder_.last());
  }

  void keep(YAML::anchor_t anchor, const Value& value) {
    const Size size = size_of(value);
    charge(size, value.line());
    anchors_[anchor] = {value, size};
  }

  // Copies, for an anchor or an alias, count like what they are copies of: 50 bytes of aliases may stand
  // for a million values, or for a hundred copies of a long text.
  void charge(const Size& size, int line) {
    builder_.count(size.values, line);
    copied_bytes_ += size.bytes;
    if (copied_bytes_ > bounds_.bytes) {
      builder_.refuse_at(
          line, fmt::format("anchors and aliases expand to more than {}", human_bytes(bounds_.bytes)));
    }
  }

  Value tagged(const std::string& tag, const std::string& text, int line) const {
    if (tag == "?" || tag.empty()) return plain_scalar(text, line);
    constexpr std::string_view core = "tag:yaml.org,2002:";
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return Value(text, line);
    if (!tag.starts_with(core)) refuse_tag(tag, line);
    Value value = plain_scalar(text, line);
    const std::string kind = tag.substr(core.size());
    if (const auto* whole = value.get_if<std::int64_t>(); whole != nullptr && kind == "float") {
      value = Value(static_cast<double>(*whole), line);
    }
    const bool matches = (kind == "null" && value.is_null()) || (kind == "bool" && value.get_if<bool>()) ||
                         (kind == "int" && value.get_if<std::int64_t>()) ||
                         (kind == "float" && value.get_if<double>());
    if (!matches) refuse_tag(tag, line);
    return value;
  }

  [[noreturn]] void refuse_tag(const std::string& tag, int line) const {
    builder_.refuse_at(line, fmt::format("the tag {} is not supported; leave it out", in_quotes(tag)));
  }

  const Bounds& bounds_;
  Builder builder_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::vector<YAML::anchor_t> anchors_of_open_;
  std::size_t copied_bytes_ = 0;
  YAML::Mark last_scalar_ = YAML::Mark::null_mark();
  bool started_ = false;
};

}  // namespace

Value parse_yaml(std::string_view text, const std::string& name, const Bounds& bounds) {
  text = checked_text(text, name, bounds);
  refuse_crowded(text, name, bounds);
  std::istringstream stream{std::string(text)};
  YamlReader reader(name, bounds);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& error) {
    refuse_document(name, error.mark.line + 1, error.msg);
  }
  reader.check_last_quote(text);
  return reader.take();
}

}  // namespace stoker::config
