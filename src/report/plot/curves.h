#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// What metrics.csv says of one training, ready to be drawn. Epochs count from 1, as people do.
struct LossCurve {
  std::string card;
  std::vector<double> epochs;
  std::vector<double> training;  // NaN where there is none
  std::vector<double> validation;
  std::vector<double> learning_rate;
  std::vector<double> rows_per_second;
  std::vector<double> gradient_norm;
  std::vector<double> memory_bytes;
  std::vector<double> seconds;  // of each epoch
  double best_epoch = 0;        // 0: not known

  bool has_validation() const;
  // Whether the losses are positive and span more than two decades, so that a linear axis would hide most of
  // them.
  bool wants_log_axis() const;
};

// What else is known of every epoch, each a chart of its own.
struct Course {
  std::string_view name;   // of its data and its picture
  std::string_view title;  // of its chart
  std::string_view axis;
  std::vector<double> LossCurve::*values;
  bool begins_at_zero = false;  // its axis: else small changes would look like large ones
};
std::span<const Course> courses();
// Those of which there is something to see: a number that is known, and of the learning rate one that
// changes.
std::vector<Course> courses_of(const LossCurve& curve);

// The curves of metrics.csv in the order of their first lines; none when there is no such file. An epoch that
// was written twice, as after a resume, counts as it was written last. The end of a line that is still being
// written is left out; any other line that does not fit is refused by its number.
std::vector<LossCurve> read_curves(const std::filesystem::path& metrics_file);

// At most about `most` epochs, evenly spaced, with the last and the best among them.
LossCurve thinned(const LossCurve& curve, std::size_t most);

}  // namespace stoker
