#pragma once

#include <memory>
#include <optional>
#include <string_view>

namespace arrow {
class ChunkedArray;
}

// Numbers as people write them: 1,234.5 and 1.234,5, 1 234,5 and 1'234.5.
namespace stoker {

struct NumberSpelling {
  char point = '.';   // or ,
  char group = '\0';  // between thousands: , . ' or a space (one that does not break, too); none

  bool is_plain() const { return point == '.' && group == '\0'; }
};

// What stands between the digits of one number.
struct Separators {
  char point = '\0';
  char group = '\0';
  char unsure = '\0';  // of 1,234 or 1.234: a point or a separator of thousands
};
// None when the text is no number in any spelling.
std::optional<Separators> separators_in(std::string_view text);

std::optional<double> number_spelled(std::string_view text, NumberSpelling spelling);

// A column of texts as numbers, if each of them is one; whole numbers when none has a point. Null otherwise.
// Words such as ? or NA (missing_words.h) count as missing where they may.
std::shared_ptr<arrow::ChunkedArray> as_spelled_numbers(const std::shared_ptr<arrow::ChunkedArray>& texts,
                                                        NumberSpelling spelling,
                                                        bool words_may_be_missing = false);

}  // namespace stoker
