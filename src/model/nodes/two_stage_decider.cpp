#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/quantile.h"
#include "model/nodes/finite_scores.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct TwoStageSettings {
  std::optional<double> image_threshold;
  double top_k_fraction = 0.001;
  double quantile = 0.995;
  std::optional<double> pixel_threshold;
};

config::Fields fields(TwoStageSettings& s) {
  return {
      config::field("image_threshold", s.image_threshold,
                    "Score that an image must reach to have marked pixels; not set: all may")
          .optional(),
      config::field("top_k_fraction", s.top_k_fraction, "Share of the pixels whose mean is the image's score")
          .above(0)
          .within(0, 1),
      config::field("quantile", s.quantile, "Share of an image's scores that lie below the threshold")
          .within(0, 1),
      config::field("pixel_threshold", s.pixel_threshold,
                    "Score from which on pixels are marked, in place of quantile")
          .optional()};
}

class TwoStageBinaryDecider final : public NodeWith<TwoStageSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("logits", "Scores to decide on")}; }
  Ports outputs(const Ports& connected) const override {
    return {{"decisions", DType::uint8, with_last(connected[0].shape, 1),
             "Marks, in images whose score reaches the threshold"}};
  }
  bool looks_at_images() const override { return true; }
  Values forward(const Pass& pass) const override {
    const Array& logits = value_at(pass.inputs, "logits");
    const std::int64_t images = logits.dimension(0);
    const std::int64_t size = pixels_of_image(logits);
    refuse_without_order(logits.as<float>());
    Array decisions = with_channels(logits, 1, DType::uint8);
    const auto to = decisions.as<std::uint8_t>();
    for (std::int64_t image = 0; image < images; ++image) {
      const auto scores = pixels_of(logits).middleRows(image * size, size);
      const Eigen::VectorXf of_pixels = scores.rowwise().maxCoeff();
      const auto marks = to.subspan(static_cast<std::size_t>(image * size), static_cast<std::size_t>(size));
      std::ranges::fill(marks, std::uint8_t{0});
      if (settings_.image_threshold &&
          score_of({of_pixels.data(), of_pixels.data() + size}) < *settings_.image_threshold)
        continue;
      std::vector<float> all(scores.data(), scores.data() + scores.size());
      const double threshold =
          settings_.pixel_threshold ? *settings_.pixel_threshold : quantile_of(all, settings_.quantile);
      for (std::int64_t i = 0; i < size; ++i)
        marks[static_cast<std::size_t>(i)] = static_cast<double>(of_pixels[i]) >= threshold ? 1 : 0;
    }
    return {{"decisions", decisions}};
  }

 private:
  // The mean of the highest.
  double score_of(std::vector<float> scores) const {
    const auto count = std::max<std::ptrdiff_t>(
        1, static_cast<std::ptrdiff_t>(
               std::ceil(static_cast<float>(static_cast<double>(scores.size()) * settings_.top_k_fraction))));
    std::ranges::partial_sort(scores, scores.begin() + count, std::greater());
    return std::accumulate(scores.begin(), scores.begin() + count, 0.0) / static_cast<double>(count);
  }
};

}  // namespace

NodeType two_stage_binary_decider() {
  return type_of<TwoStageBinaryDecider>(
      "TwoStageBinaryDecider", NodeKind::decider,
      "Decides on images by their highest scores, then on the pixels of those");
}

}  // namespace stoker::nodes
