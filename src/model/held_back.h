#pragma once

#include <cstdint>
#include <vector>

#include "device/array.h"

namespace stoker {

// Rows that a model was not trained on, and what it makes of them.
struct HeldBackRows {
  std::vector<std::int64_t> rows;  // ascending, of the table that they were held back from
  std::vector<double> actual;      // in real units, or numbers of classes
  std::vector<double> predicted;   // in real units, or probabilities [rows, classes]
};

// As arrays rows, actual and predicted. `classes` is their number; 0: numbers are predicted.
NamedArrays to_arrays(const HeldBackRows& held_back, std::size_t classes);
// Refuses what is missing, too much, or does not fit each other.
HeldBackRows held_back_from(const NamedArrays& arrays, std::size_t classes);

}  // namespace stoker
