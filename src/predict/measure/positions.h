#pragma once

#include <vector>

#include "predict/measure/evaluation.h"
#include "predict/rows/predictions.h"

namespace stoker {

// Numbers of an array that each row is answered with have no mean in common, to which all of them could be
// compared. What is measured of them together is right when the mean of each of them is taken away from both
// sides; nothing is done to rows that are answered otherwise.
void centre_arrays(const Preparation& preparation, std::vector<double>& actual,
                   std::vector<double>& predicted);

// Squared distance from the middle of a normal distribution, in variances, within which that share (0.68 or
// 0.95) lies; of so many numbers with a variance each.
double squared_radius(double share, std::int64_t numbers);

// [rows]: how far what is predicted lies from what is right, squared, in variances.
std::vector<double> squared_errors_in_deviations(const std::vector<double>& actual,
                                                 const Predictions& predictions);

// Of rows that are answered with several numbers of one kind, such as a place: how far what is predicted lies
// from what is right (distance_p50, distance_p68, distance_p95), and where the model tells how sure it is,
// whether that is so: the share of the rows that lie within the region that is to hold 68 and 95 % of them
// (within_68, within_95), and the root of the mean square of errors in deviations (standardised_rmse, 1 where
// deviations are right). With a map of two coordinates.
void add_positions(const std::vector<double>& actual, const Predictions& predictions, Evaluation& evaluation);

}  // namespace stoker
