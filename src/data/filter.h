#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/table.h"

namespace stoker {

// "snr_db >= 10": a column, one of >= > <= < = !=, and a number.
struct Condition {
  enum class Kind { at_least, above, at_most, below, equal, unequal };
  std::string column;
  Kind kind = Kind::at_least;
  double number = 0;

  bool holds_for(double value) const;  // not for one that is missing
};
// Refuses what is none.
Condition condition_from(std::string_view text);

// The rows for which all conditions hold. Refuses a column that is not there or holds no numbers.
Table rows_with(const Table& table, const std::vector<Condition>& conditions);

}  // namespace stoker
