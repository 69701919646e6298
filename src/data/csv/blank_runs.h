#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <arrow/io/type_fwd.h>

// Rows whose values stand between any number of blanks, so that they lie under each other, become rows with
// one tab between the values and none around them. Quoted values keep their blanks, and lines stay lines.
namespace stoker {

class BlankRuns {
 public:
  // Appends to `out`; a text may be fed in pieces.
  void feed(std::string_view text, std::string& out);

 private:
  bool at_line_start_ = true;
  bool after_blank_ = false;
  bool is_quoted_ = false;  // the value began with a quote
  bool inside_quotes_ = false;
};

std::shared_ptr<arrow::io::InputStream> with_single_tabs(std::shared_ptr<arrow::io::InputStream> text);

}  // namespace stoker
