#pragma once

#include <vector>

#include "model/nodes/node.h"

// How well each channel by itself tells marked pixels from others.
namespace stoker::nodes {

struct BandScores {
  std::vector<double> fisher;       // (m1 - m0)² / (v0 + v1)
  std::vector<double> auc;          // area under the ROC curve, with the channel as the score
  std::vector<double> information;  // mutual information with ten equal parts of the channel's range, in bits
  std::vector<double> combined;  // their sum with weights, each with mean 0 and deviation 1 over the channels
};
BandScores band_scores(const LabelledPixels& pixels, const std::vector<double>& weights);

// Absolute correlations of the channels, [channels, channels].
std::vector<double> correlations(const LabelledPixels& pixels);

// One after the other, each the best score less `penalty` times its largest correlation with those chosen.
std::vector<std::int64_t> choose_bands(const std::vector<double>& scores,
                                       const std::vector<double>& correlation, std::int64_t count,
                                       double penalty);

}  // namespace stoker::nodes
