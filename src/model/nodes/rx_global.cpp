#include "config/usual_bounds.h"
#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"
#include "model/nodes/quadratic_form.h"

namespace stoker::nodes {
namespace {

struct RxSettings {
  std::int64_t num_channels = 0;
  double eps = 1e-6;
};

config::Fields fields(RxSettings& s) {
  return {channel_count_field("num_channels", s.num_channels),
          config::field("eps", s.eps, "Added to the diagonal of the covariance; 0: a singular one is refused")
              .within(0, config::largest_eps)
              .needs_no("cache_inverse", "the inverse is always kept")};
}

class RxGlobal final : public NodeWith<RxSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "Pixels to score")}; }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.num_channels, "num_channels", connected);
    return {scores_behind(connected[0], "Squared Mahalanobis distance of each pixel")};
  }
  Asks asks() const override { return Asks::products; }
  std::vector<std::string> trainable() const override { return {"mu", "cov_inv"}; }

  NamedArrays begin(const Ports&, const Known& known) const override {
    const auto channels = static_cast<std::int64_t>(known.statistics->mean.size());
    std::vector<double> covariance = covariance_of(*known.statistics);
    const std::vector<double> inverse = inverse_of(covariance, channels, settings_.eps);
    for (std::int64_t i = 0; i < channels; ++i)
      covariance[static_cast<std::size_t>(i * (channels + 1))] += settings_.eps;
    return {{"mu", numbers({channels}, known.statistics->mean)},
            {"cov", numbers({channels, channels}, covariance)},
            {"cov_inv", numbers({channels, channels}, inverse)}};
  }

  Values forward(const Pass& pass) const override {
    return {{"scores", quadratic_form(value_at(pass.inputs, "data"), pass.state, "mu", "cov_inv")}};
  }
  Gradients backward(const PassBack& pass) const override {
    return quadratic_form_back(value_at(pass.inputs, "data"), value_at(pass.gradients, "scores"), pass.state,
                               "mu", "cov_inv");
  }
};

}  // namespace

NodeType rx_global() {
  return type_of<RxGlobal>(
      "RXGlobal", NodeKind::statistical,
      "Scores pixels by how far they are from the training pixels, in units of their covariance");
}

}  // namespace stoker::nodes
