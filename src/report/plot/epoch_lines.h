#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/plot/epoch_values.h"
#include "report/plot/gnuplot.h"

namespace stoker {

// One quantity at each epoch, of the training rows and of the validation rows; NaN where it is not known.
struct EpochLines {
  std::vector<double> epochs;
  std::vector<double> training;
  std::vector<double> validation;
};

// None of a training whose accuracy is not known, such as that of a target of numbers.
std::optional<EpochLines> accuracy_lines(const EpochValues& values);

// A command that plots both lines in their colors from `file`, which is added to the picture; lines without a
// number are left out. Empty if both are.
std::string plot_of(const EpochLines& lines, const std::string& file, GnuplotPicture& picture);

// Accuracy by epoch; best_epoch is 0 if it is not known.
GnuplotPicture accuracy_picture(const EpochLines& lines, double best_epoch, const std::string& run);

}  // namespace stoker
