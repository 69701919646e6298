#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decision.h"

namespace stoker {

// The class of each row from probabilities [rows, classes]; of several that are equal, the first.
std::vector<std::int64_t> most_probable(std::span<const double> probabilities, std::size_t classes);

// Brings probabilities [rows, classes] to the temperature, and lets the threshold choose between two classes
// where it is another than the middle; else the rows keep the ones chosen.
void apply(const Decision& decision, std::span<double> probabilities, std::span<std::int64_t> chosen);

}  // namespace stoker
