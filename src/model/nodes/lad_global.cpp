#include <cmath>

#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"
#include "model/nodes/quadratic_form.h"

namespace stoker::nodes {
namespace {

struct LadSettings {
  std::int64_t num_channels = 0;
  bool normalize_laplacian = true;
};

config::Fields fields(LadSettings& s) {
  return {channel_count_field("num_channels", s.num_channels),
          config::field("normalize_laplacian", s.normalize_laplacian,
                        "Divides by the roots of the degrees on both sides")
              .needs_no("eps", "it changes nothing, nor does it in cuvis.ai")
              .needs_no("use_numpy_laplacian", "the Laplacian is always computed in double precision")};
}

class LadGlobal final : public NodeWith<LadSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "Pixels to score")}; }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.num_channels, "num_channels", connected);
    return {scores_behind(connected[0], "How a pixel varies over the graph of channels")};
  }
  Asks asks() const override { return Asks::moments; }
  std::vector<std::string> trainable() const override { return {"M", "L"}; }

  NamedArrays begin(const Ports&, const Known& known) const override {
    const std::vector<double>& mean = known.statistics->mean;
    const auto channels = static_cast<std::int64_t>(mean.size());
    return {{"M", numbers({channels}, mean)}, {"L", numbers({channels, channels}, laplacian(mean))}};
  }

  Values forward(const Pass& pass) const override {
    return {{"scores", quadratic_form(value_at(pass.inputs, "data"), pass.state, "M", "L")}};
  }
  Gradients backward(const PassBack& pass) const override {
    return quadratic_form_back(value_at(pass.inputs, "data"), value_at(pass.gradients, "scores"), pass.state,
                               "M", "L");
  }

 private:
  // Channels are tied by the Cauchy function of how far their means are apart, in units of the mean of all.
  std::vector<double> laplacian(const std::vector<double>& mean) const {
    const std::size_t size = mean.size();
    double unit = 1e-12;
    for (const double each : mean) unit += each / static_cast<double>(size);
    std::vector<double> result(size * size), degrees(size);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) {
        if (i == j) continue;
        const double apart = std::abs(mean[i] - mean[j]) / unit;
        result[i * size + j] = -1 / (1 + apart * apart);
        degrees[i] -= result[i * size + j];
      }
    for (std::size_t i = 0; i < size; ++i) result[i * size + i] = degrees[i];
    if (!settings_.normalize_laplacian) return result;
    const auto factor = [&](std::size_t i) {
      return degrees[i] > 0 ? 1 / (std::sqrt(degrees[i]) + 1e-12) : 0;
    };
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) result[i * size + j] *= factor(i) * factor(j);
    return result;
  }
};

}  // namespace

NodeType lad_global() {
  return type_of<LadGlobal>("LADGlobal", NodeKind::statistical,
                            "Scores pixels by the Laplacian of a graph that ties channels with near means");
}

}  // namespace stoker::nodes
