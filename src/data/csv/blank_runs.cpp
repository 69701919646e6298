#include "data/csv/blank_runs.h"

#include "data/csv/changed_text.h"

namespace stoker {

void BlankRuns::feed(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (inside_quotes_) {
      inside_quotes_ = c != '"';
      out += c;
    } else if (c == ' ' || c == '\t') {
      after_blank_ = true;
    } else if (c == '\n' || c == '\r') {
      at_line_start_ = true;
      after_blank_ = false;
      out += c;
    } else {
      const bool begins_value = at_line_start_ || after_blank_;
      if (after_blank_ && !at_line_start_) out += '\t';
      if (begins_value) is_quoted_ = c == '"';
      inside_quotes_ = is_quoted_ && c == '"';  // a doubled quote opens its value again
      at_line_start_ = after_blank_ = false;
      out += c;
    }
  }
}

std::shared_ptr<arrow::io::InputStream> with_single_tabs(std::shared_ptr<arrow::io::InputStream> text) {
  return changed_text(std::move(text),
                      [runs = BlankRuns()](std::string_view piece, std::string& out) mutable {
                        runs.feed(piece, out);
                        return arrow::Status::OK();
                      });
}

}  // namespace stoker
