#pragma once

#include <cstdint>
#include <string>

#include "kernels/loss.h"

namespace stoker {

// A part of what training makes small: a loss of some of the outputs. Their weighted sum is trained.
struct LossTerm {
  Loss kind = Loss::mse;
  double huber_delta = 1;     // where huber turns from squared to linear
  std::string name = "loss";  // for people, where there are several
  double weight = 1;
  std::string targets = "targets";  // the array that its outputs are compared with
  std::int64_t first_output = 0;
  std::int64_t outputs = 0;  // how many; 0: all
  double quantile = 0.5;     // which one quantile is smallest at
  // Of losses of classes, in training alone: the share of a row that is spread evenly over all classes.
  double label_smoothing = 0;
  // Kept small in training, and no part of what validation judges by.
  bool is_of_training_alone = false;

  // The number that a kernel needs beside the kind.
  double shape() const { return kind == Loss::quantile ? quantile : huber_delta; }
};

}  // namespace stoker
