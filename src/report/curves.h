#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace stoker {

// What metrics.csv says of one training, ready to be drawn. Epochs count from 1, as people do.
struct LossCurve {
  std::string card;
  std::vector<double> epochs;
  std::vector<double> training;  // NaN where there is none
  std::vector<double> validation;
  std::vector<double> learning_rate;
  double best_epoch = 0;  // 0: not known

  bool has_validation() const;
  // Whether the losses are positive and span more than two decades, so that a linear axis would hide most of
  // them.
  bool wants_log_axis() const;
};

// The curves of metrics.csv in the order of their first lines; none when there is no such file. An epoch that
// was written twice, as after a resume, counts as it was written last. The end of a line that is still being
// written is left out; any other line that does not fit is refused by its number.
std::vector<LossCurve> read_curves(const std::filesystem::path& metrics_file);

// At most about `most` epochs, evenly spaced, with the last and the best among them.
LossCurve thinned(const LossCurve& curve, std::size_t most);

}  // namespace stoker
