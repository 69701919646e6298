#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantile.h"
#include "model/nodes/finite_scores.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct QuantileSettings {
  double quantile = 0.995;
  std::vector<std::int64_t> reduce_dims;
};

config::Fields fields(QuantileSettings& s) {
  return {
      config::field("quantile", s.quantile, "Share of the values that lie below the threshold").within(0, 1),
      config::field("reduce_dims", s.reduce_dims,
                    "Empty or [1, 2, 3]: one threshold for an image; [1, 2]: one for each of its channels")
          .optional()};
}

class QuantileBinaryDecider final : public NodeWith<QuantileSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("logits", "To decide on")}; }
  Ports outputs(const Ports& connected) const override {
    by_channel();
    return {{"decisions", DType::uint8, connected[0].shape, "1 from the quantile of the image on"}};
  }
  bool looks_at_images() const override { return true; }
  Values forward(const Pass& pass) const override {
    const Array& logits = value_at(pass.inputs, "logits");
    const std::int64_t channels = channels_in(logits);
    const std::int64_t groups = by_channel() ? channels : 1;
    const std::int64_t images = logits.dimension(0);
    const std::int64_t size = pixels_of_image(logits) * channels;
    refuse_without_order(logits.as<float>());
    Array decisions = with_channels(logits, channels, DType::uint8);
    const float* from = logits.as<float>().data();
    std::uint8_t* to = decisions.as<std::uint8_t>().data();
    for (std::int64_t image = 0; image < images; ++image)
      for (std::int64_t group = 0; group < groups; ++group) {
        std::vector<float> values;
        for (std::int64_t i = group; i < size; i += groups) values.push_back(from[image * size + i]);
        const double threshold = quantile_of(values, settings_.quantile);
        for (std::int64_t i = group; i < size; i += groups)
          to[image * size + i] = static_cast<double>(from[image * size + i]) >= threshold ? 1 : 0;
      }
    return {{"decisions", decisions}};
  }

 private:
  bool by_channel() const {
    std::vector<std::int64_t> dims = settings_.reduce_dims;
    for (std::int64_t& each : dims) each = each < 0 ? each + 4 : each;
    std::ranges::sort(dims);
    if (dims.empty() || dims == std::vector<std::int64_t>{1, 2, 3}) return false;
    if (dims != std::vector<std::int64_t>{1, 2})
      refuse("reduce_dims must be empty, [1, 2, 3] or [1, 2]; it is [{}]",
             fmt::join(settings_.reduce_dims, ", "));
    return true;
  }
};

}  // namespace

NodeType quantile_binary_decider() {
  return type_of<QuantileBinaryDecider>(
      "QuantileBinaryDecider", NodeKind::decider,
      "Marks the pixels of each image that lie at or above a quantile of it");
}

}  // namespace stoker::nodes
