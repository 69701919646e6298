#pragma once

#include <optional>

#include "pipeline/training/prepared_trainings.h"
#include "sweep/results.h"
#include "train/group/many.h"

namespace stoker {

// How good a trained network is on the rows that were held back, with its losses by epoch. What is not finite
// is no score: the candidate counts as diverged.
void score_network(const PreparedTraining& prepared, const MemberResult& trained, bool keeps_best,
                   const std::string& metric, Training& training);

// Fits a linear model on the training rows and scores it on the others. Its loss is the mean squared error.
void fit_and_score_solved(const PreparedTraining& prepared, const std::string& metric, const StopSignal& stop,
                          Training& training);

}  // namespace stoker
