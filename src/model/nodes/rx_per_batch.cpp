#include "config/usual_bounds.h"
#include "kernels/covariance.h"
#include "kernels/place.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"
#include "model/nodes/quadratic_form.h"

namespace stoker::nodes {
namespace {

struct RxPerBatchSettings {
  double eps = 1e-6;
};

config::Fields fields(RxPerBatchSettings& s) {
  return {config::field("eps", s.eps, "Added to the diagonal of the covariance; 0: a singular one is refused")
              .within(0, config::largest_eps)};
}

class RxPerBatch final : public NodeWith<RxPerBatchSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "Pixels to score")}; }
  Ports outputs(const Ports& connected) const override {
    return {
        scores_behind(connected[0], "Squared Mahalanobis distance of each pixel from those of its image")};
  }

  bool looks_at_images() const override { return true; }
  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const std::int64_t channels = channels_in(data);
    const std::int64_t images = data.dimension(0);
    const std::int64_t size = pixels_of_image(data);
    Array scores = with_channels(data, 1);
    for (std::int64_t i = 0; i < images; ++i) {
      const kernels::StatisticsWork work{data.as<float>().data() + i * size * channels, nullptr, size,
                                         channels, true};
      const kernels::Statistics found =
          kernels::covariance(work, kernels::BadPixels::refuse, {Device::cpu(), nullptr});
      const Array inverse =
          numbers({channels, channels}, inverse_of(covariance_of(found), channels, settings_.eps));
      const auto first = static_cast<std::size_t>(i * size), count = static_cast<std::size_t>(size);
      const auto width = static_cast<std::size_t>(channels);
      quadratic_form(data.as<float>().subspan(first * width, count * width), numbers({channels}, found.mean),
                     inverse, scores.as<float>().subspan(first, count));
    }
    return {{"scores", scores}};
  }
};

}  // namespace

NodeType rx_per_batch() {
  return type_of<RxPerBatch>("RXPerBatch", NodeKind::stateless,
                             "Scores pixels by how far they are from the others of their image");
}

}  // namespace stoker::nodes
