#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "config/usual_bounds.h"
#include "model/nodes/band_scores.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/compose_rgb.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"
#include "model/nodes/wavelengths.h"

namespace stoker::nodes {
namespace {

struct SupervisedSettings {
  std::int64_t num_spectral_bands = 0;
  std::vector<double> score_weights{1, 1, 1};
  double lambda_penalty = 0.5;
};

config::Fields fields(SupervisedSettings& s) {
  return {
      channel_count_field("num_spectral_bands", s.num_spectral_bands),
      config::field("score_weights", s.score_weights,
                    "How much Fisher's score, the area under the ROC curve and the mutual information count"),
      config::field("lambda_penalty", s.lambda_penalty,
                    "What a channel loses for the largest correlation with one that was chosen before")
          .within(0, config::largest_weight)};
}

class SupervisedSelector final : public NodeWith<SupervisedSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override {
    Port mask = mask_port("mask", "Marked pixels are one class, all others the other");
    mask.is_optional = true;
    return {cube_port("cube", "Channels to choose from"), wavelengths_port(), mask};
  }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.num_spectral_bands, "num_spectral_bands", connected);
    check_wavelengths(connected);
    const std::int64_t channels = connected[0].shape.back();
    if (channels >= 0 && channels < 3) refuse("three channels are chosen, but only {} come in", channels);
    if (settings_.score_weights.size() != 3)
      refuse("score_weights needs three numbers; it has {}", settings_.score_weights.size());
    return {rgb_port(connected[0])};
  }
  Asks asks() const override { return Asks::labelled; }

  NamedArrays begin(const Ports&, const Known& known) const override {
    const BandScores scores = band_scores(*known.labelled, settings_.score_weights);
    const std::vector<std::int64_t> chosen =
        choose_bands(scores.combined, correlations(*known.labelled), 3, settings_.lambda_penalty);
    const std::vector<double> as_numbers(chosen.begin(), chosen.end());
    const auto channels = static_cast<std::int64_t>(scores.combined.size());
    return {{"selected_indices", numbers({3}, as_numbers)},
            {"band_scores", numbers({channels}, scores.combined)},
            {"fisher_scores", numbers({channels}, scores.fisher)},
            {"auc_scores", numbers({channels}, scores.auc)},
            {"mi_scores", numbers({channels}, scores.information)}};
  }

  Values forward(const Pass& pass) const override {
    std::array<std::int64_t, 3> channels{};
    const auto chosen = find_array(pass.state, "selected_indices").as<float>();
    for (std::size_t i = 0; i < 3; ++i) channels[i] = static_cast<std::int64_t>(chosen[i]);
    return {{"rgb_image", compose_rgb(value_at(pass.inputs, "cube"), channels)}};
  }
};

}  // namespace

NodeType supervised_full_spectrum_selector() {
  return type_of<SupervisedSelector>(
      "SupervisedFullSpectrumSelector", NodeKind::statistical,
      "A picture of the three channels that tell marked pixels from others best and are least alike");
}

}  // namespace stoker::nodes
