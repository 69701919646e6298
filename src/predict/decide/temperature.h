#pragma once

#include <cstdint>
#include <span>

// One number that makes the probabilities of a model of classes less sure of themselves (above 1), or more
// (below 1), and leaves the order of a row's classes as it is (Guo et al., On Calibration of Modern Neural
// Networks, 2017).
namespace stoker {

// Of the probabilities of one row: p^(1/temperature), divided by their sum.
void bring_to_temperature(double temperature, std::span<double> probabilities);

// The temperature, within its bounds, at which probabilities [rows, classes] of rows of known classes have
// the smallest log loss. Where few rows say little, it stays near 1: rows that are all classified right would
// ask for probabilities of 0 and 1.
double fit_temperature(std::span<const double> probabilities, std::span<const std::int64_t> actual);

}  // namespace stoker
