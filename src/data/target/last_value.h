#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "data/table/table.h"

namespace stoker {

// The plainest forecast of a series: of each row that is a window, the last known number of the target column
// in it; not a number where it has none. None of rows that are no windows, and where the answer is no value
// of that column or the windows do not show it.
std::optional<std::vector<double>> last_values(const Table& table);

// The known numbers of the target column in each window, for answers ahead and path.
class PastOfTarget {
 public:
  // Nothing under the conditions of last_values(). Reads the columns that are needed alone, of layout
  // columns.
  static std::optional<PastOfTarget> of(const Table& table,
                                        const std::function<bool(std::int64_t back)>& is_needed);
  // `back` rows before the end of the window; NaN if the value is missing, not needed or before the window.
  double value(std::int64_t row, std::int64_t back) const;

 private:
  std::int64_t length_ = 0;
  std::vector<std::int64_t> starts_;          // of each window in the series
  std::vector<double> series_;                // layout: windows
  std::vector<std::vector<double>> columns_;  // layout: columns, by how many rows they are before the end
};

}  // namespace stoker
