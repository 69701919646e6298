#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/table/table.h"

namespace stoker {

// "snr_db >= 10": a column, one of >= > <= < = !=, and a number; or "price is not null", "price is null".
struct Condition {
  enum class Kind { at_least, above, at_most, below, equal, unequal, missing, present };
  std::string column;
  Kind kind = Kind::at_least;
  double number = 0;

  // For one that is missing (NaN) only where that is what is asked for.
  bool holds_for(double value) const;
  bool compares() const { return kind != Kind::missing && kind != Kind::present; }
};
// Refuses what is none.
Condition condition_from(std::string_view text);

// The rows for which all conditions hold. Refuses a column that is not there, or holds no numbers and is to
// be compared with one.
Table rows_with(const Table& table, const std::vector<Condition>& conditions);

}  // namespace stoker
