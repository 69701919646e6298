#pragma once

#include <string>
#include <vector>

#include "data/table/table.h"
#include "model/model.h"
#include "predict/rows/predictions.h"

namespace stoker {

// Why a model cannot tell intervals that hold this share of the actual values, or "".
std::string problem_with_intervals(const Model& model, double share);

// The rows that they rest on, for people.
std::string basis_of_intervals(const Model& model);

// Intervals that hold this share of the actual values: CV+ of Barber, Candès, Ramdas and
// Tibshirani, "Predictive inference with the jackknife+" (Annals of Statistics, 2021). Each row that was
// held back moves what those members predict that held it back (one of each repeat, by their mean) by as much
// as they were wrong about that row, down and up; the bounds are quantiles over all of them. With one network
// and its validation rows this is split conformal prediction. Refuses where there is a problem.
Intervals predict_intervals(const Model& model, const Table& table, double share);

// Of the row that bounds the share, among this many in order of size, from 1; beyond them where they are too
// few.
std::size_t rank_of(double share, std::size_t rows);

// How far the model was off about the rows that were held back from its training, [rows, steps] in their
// order; of an ensemble, those members together that held a row back.
std::vector<double> held_back_errors(const Model& model);

// The share of the rows whose actual value lies in its interval; those that are NaN do not count.
double coverage_of(const Intervals& intervals, const std::vector<double>& actual);

}  // namespace stoker
