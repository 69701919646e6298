#pragma once

#include <string>
#include <vector>

#include "report/run/contents.h"

namespace stoker {

// Curves over one axis, as the page's script draws them.
struct PlottedLines {
  // Lines of training and of validation have one color each, in every plot.
  enum class Of { neither, training, validation };
  struct Line {
    std::string label;
    std::vector<double> values;
    std::vector<double> deviation = {};  // drawn on both sides; may be empty
    Of of = Of::neither;
  };
  std::string caption;
  std::string x_label;
  std::string y_label;
  std::vector<double> x;
  std::vector<Line> lines;
  std::vector<double> marks = {};  // along x, dashed
  bool is_share = false;           // both axes go from 0 to 1
};

// What else is told of every epoch: each of several losses, and metrics of the rows that are held back.
std::vector<PlottedLines> lines_of(const EpochValues& values);
// Spectra, components and precision over recall; whichever there are.
std::vector<PlottedLines> lines_of(const CubeRecord& record);

// All of a page, those of epochs first.
std::vector<PlottedLines> lines_of_page(const RunContents& contents);

}  // namespace stoker
