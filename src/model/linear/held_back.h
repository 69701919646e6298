#pragma once

#include <cstdint>
#include <vector>

#include "device/array.h"

namespace stoker {

// Rows that a model was not trained on, and what it makes of them.
struct HeldBackRows {
  std::vector<std::int64_t> rows;  // ascending, of the table that they were held back from
  std::vector<double> actual;      // in real units [rows, steps], or numbers of classes
  std::vector<double> predicted;   // in real units [rows, steps], or probabilities [rows, classes]
};

struct HeldBackWidths {
  std::size_t classes = 0;  // 0: numbers are predicted
  std::size_t steps = 1;    // numbers for each row

  std::size_t of_predicted() const { return classes > 0 ? classes : steps; }
};

// As arrays rows, actual and predicted.
NamedArrays to_arrays(const HeldBackRows& held_back, const HeldBackWidths& widths);
// Refuses what is missing, too much, or does not fit each other.
HeldBackRows held_back_from(const NamedArrays& arrays, const HeldBackWidths& widths);

}  // namespace stoker
