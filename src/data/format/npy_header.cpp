#include "data/format/npy_header.h"

#include <charconv>
#include <istream>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace stoker {
namespace {

constexpr std::size_t longest_header = 64 * 1024;
class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader parse() {
    expect('{');
    while (!taken('}')) {
      const std::string key = quoted();
      expect(':');
      read_value(key);
      if (!taken(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) damaged("has something after the closing brace");
    if (descr_.empty() || !fortran_order_ || !shape_) damaged("lacks descr, fortran_order or shape");
    return {std::move(descr_), *fortran_order_, std::move(*shape_), 0};
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const { refuse("{}: the header {}", file_, what); }

  void read_value(const std::string& key) {
    if (key == "descr" && descr_.empty()) {
      skip_space();
      if (at_ < text_.size() && text_[at_] == '[') {
        refuse("{} holds records of several fields; save it as a plain array of numbers", file_);
      }
      descr_ = quoted();
    } else if (key == "fortran_order" && !fortran_order_) {
      fortran_order_ = boolean();
    } else if (key == "shape" && !shape_) {
      shape_ = shape();
    } else {
      damaged("has an unknown or repeated key");
    }
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool taken(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!taken(c)) damaged(fmt::format("should have '{}' at character {}", c, at_));
  }
  std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') damaged(fmt::format("should have a text at character {}", at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) damaged("has a text that is never closed");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    damaged("has a fortran_order that is neither True nor False");
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!taken(')')) {
      skip_space();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || sizes.size() == 32) damaged("has an invalid shape");
      at_ = static_cast<std::size_t>(end - text_.data());
      sizes.push_back(size);
      if (!taken(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  std::string descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::int64_t>> shape_;
};

std::string npy_bytes(std::istream& stream, std::size_t count, const std::string& file) {
  std::string bytes(count, '\0');
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(count)))
    refuse("{} ends inside its header", file);
  return bytes;
}

}  // namespace

NpyHeader read_npy_header(std::istream& stream, const std::string& file) {
  const std::string start = npy_bytes(stream, 8, file);
  if (!start.starts_with("\x93NUMPY")) refuse("{} is not a .npy file: it does not begin like one", file);
  const int version = start[6];
  if (version < 1 || version > 3) refuse("{} has .npy version {}; 1 to 3 can be read", file, version);
  const std::string length_bytes = npy_bytes(stream, version == 1 ? 2 : 4, file);
  std::size_t length = 0;
  for (std::size_t i = length_bytes.size(); i-- > 0;)
    length = length << 8U | static_cast<unsigned char>(length_bytes[i]);
  if (length > longest_header)
    refuse("{} has a header of {} bytes, far more than an array of numbers needs", file, length);
  NpyHeader header = NpyHeaderParser(npy_bytes(stream, length, file), file).parse();
  header.begin = stream.tellg();
  return header;
}

}  // namespace stoker
