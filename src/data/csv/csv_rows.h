#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker {

// Follows the rows of a CSV text to find the first one that has another number of values than the header.
// Arrow finds such rows too, but its threads do not know their line, and quoted values may hold line ends.
class RowScanner {
 public:
  struct Fault {
    std::int64_t line = 0;  // where the row begins, counted from 1
    std::int64_t values = 0;
    std::int64_t expected = 0;
    bool open_quote = false;  // the text ends inside a quoted value that began in this row
    // A row that begins with # and is probably a comment: this row, or the first one if all before this row
    // are such. 0: none.
    std::int64_t comment_line = 0;
  };

  explicit RowScanner(char delimiter) : delimiter_(delimiter) {}
  void feed(std::string_view text);
  // The first fault of all that was fed; call after the end of the text.
  std::optional<Fault> finish();

 private:
  enum class State { value_start, unquoted, quoted, quote_in_quoted };
  void take(char c);
  void end_row();
  std::int64_t comment_line() const;

  char delimiter_;
  State state_ = State::value_start;
  bool after_return_ = false;
  bool row_has_text_ = false;
  std::int64_t line_ = 1;
  std::int64_t row_line_ = 1;
  bool is_comment_ = false;          // the row begins with #
  bool has_data_ = false;            // a row before does not
  std::int64_t first_row_line_ = 0;  // 0: no row has ended yet
  std::int64_t values_ = 1;
  std::int64_t expected_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace stoker
