#include "data/csv/csv_rows.h"

namespace stoker {

void RowScanner::feed(std::string_view text) {
  for (const char c : text) {
    if (fault_) return;
    take(c);
  }
}

void RowScanner::take(char c) {
  const bool second_half_of_line_end = after_return_ && c == '\n';
  after_return_ = c == '\r';
  if (second_half_of_line_end) {
    if (state_ != State::quoted) row_line_ = line_;
    return;
  }
  const bool line_end = c == '\n' || c == '\r';
  if (line_end) ++line_;
  if (state_ == State::quoted) {
    if (c == '"') state_ = State::quote_in_quoted;
    return;
  }
  if (line_end) return end_row();
  if (!row_has_text_) is_comment_ = c == '#';
  row_has_text_ = true;
  if (c == delimiter_) {
    ++values_;
    state_ = State::value_start;
  } else if (c == '"' && state_ != State::unquoted) {
    state_ = State::quoted;  // a quoted value begins, or a doubled quote inside one
  } else {
    state_ = State::unquoted;
  }
}

void RowScanner::end_row() {
  if (row_has_text_) {  // empty lines are no rows
    if (expected_ == 0) expected_ = values_;
    if (values_ != expected_) fault_ = Fault{row_line_, values_, expected_, false, comment_line()};
    if (first_row_line_ == 0) first_row_line_ = row_line_;
    has_data_ = has_data_ || !is_comment_;
  }
  row_has_text_ = false;
  values_ = 1;
  row_line_ = line_;
  state_ = State::value_start;
}

std::int64_t RowScanner::comment_line() const {
  if (is_comment_) return row_line_;
  return has_data_ ? 0 : first_row_line_;
}

std::optional<RowScanner::Fault> RowScanner::finish() {
  if (!fault_ && state_ == State::quoted) fault_ = Fault{row_line_, values_, expected_, true, 0};
  if (!fault_) end_row();
  return fault_;
}

}  // namespace stoker
