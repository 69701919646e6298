#include "data/format/json_rows.h"

#include <cstdint>
#include <utility>

#include "data/csv/changed_text.h"
#include "data/memory/packed_text.h"

namespace stoker {
namespace {

constexpr char cell_end = ':';  // each value has one in front of it
constexpr std::string_view blanks = " \t\r\n";

}  // namespace

bool is_json_array(const std::filesystem::path& path) {
  constexpr std::int64_t enough = 1 << 16;
  const std::string start = text_start(path, enough);
  const std::size_t first = start.find_first_not_of(blanks);
  return first != std::string::npos && start[first] == '[';
}

void LinesOfArray::feed(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (!in_string_) {
      out += changed(c);
      continue;
    }
    out += c;
    in_string_ = is_escaped_ || c != '"';
    is_escaped_ = !is_escaped_ && c == '\\';
  }
}

// Only the brackets of the array and what is between its objects change; whether those are JSON is for their
// reader to find.
char LinesOfArray::changed(char c) {
  if (blanks.find(c) != std::string_view::npos) return ' ';
  if (is_ended_ || (depth_ == 1 && after_object_ && c != ',' && c != ']')) is_faulty_ = true;
  if (depth_ == 1 && c == ',') {
    after_object_ = false;
    return '\n';
  }
  const bool is_of_array = (c == '[' && !is_begun_) || (c == ']' && depth_ == 1);
  if (c == '[' || c == '{') ++depth_;
  if ((c == ']' || c == '}') && depth_ > 0) --depth_;
  if (c == '}' && depth_ == 1) after_object_ = true;
  in_string_ = c == '"';
  is_begun_ = true;
  is_ended_ = depth_ == 0;
  return is_of_array ? ' ' : c;
}

arrow::Result<std::shared_ptr<arrow::io::InputStream>> open_json_rows(const std::filesystem::path& path,
                                                                      bool is_array, ArrayEnd end) {
  ARROW_ASSIGN_OR_RAISE(auto text, open_text(path, cell_end));
  if (!is_array) return text;
  return changed_text(
      std::move(text), [lines = LinesOfArray(), end](std::string_view piece, std::string& out) mutable {
        lines.feed(piece, out);
        if (lines.is_faulty())
          return arrow::Status::Invalid("the file must be one array of objects with commas between them");
        if (piece.empty() && !lines.is_ended() && end == ArrayEnd::required)
          return arrow::Status::Invalid("the array of rows has no end, so the file may be cut short");
        return arrow::Status::OK();
      });
}

}  // namespace stoker
