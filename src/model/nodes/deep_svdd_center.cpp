#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct CentreSettings {
  std::int64_t rep_dim = 0;
  double alpha = 0.1;
  bool update_in_eval = false;
};

config::Fields fields(CentreSettings& s) {
  return {channel_count_field("rep_dim", s.rep_dim),
          config::field("alpha", s.alpha, "How far the centre follows the mean of a training batch")
              .above(0)
              .within(0, 1),
          config::field("update_in_eval", s.update_in_eval, "It follows batches of validation as well")};
}

class DeepSvddCentre final : public NodeWith<CentreSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("embeddings", "Of pixels")}; }
  Ports outputs(const Ports& connected) const override {
    check_channels(settings_.rep_dim, "rep_dim", connected);
    return {{"center", DType::float32, {connected[0].shape.back()}, "Mean of the embeddings"}};
  }
  Asks asks() const override { return Asks::moments; }

  NamedArrays begin(const Ports&, const Known& known) const override {
    const std::vector<double>& mean = known.statistics->mean;
    return {{"tracked_center", numbers({static_cast<std::int64_t>(mean.size())}, mean)}};
  }

  void follow_batch(const Values& outputs, NamedArrays& state) const override {
    for (NamedArray& each : state)
      if (each.name == "tracked_center") each.array = value_at(outputs, "center");
  }

  // In training the centre that comes out has followed the batch.
  Values forward(const Pass& pass) const override {
    const Array& embeddings = value_at(pass.inputs, "embeddings");
    PixelMatrix centre = matrix_in(pass.state, "tracked_center");
    if (pass.stage == Stage::train || (settings_.update_in_eval && pass.stage != Stage::inference)) {
      const PixelMatrix mean = pixels_of(embeddings).cast<double>().colwise().mean().cast<float>();
      const auto alpha = static_cast<float>(settings_.alpha);
      centre = (1 - alpha) * centre + alpha * mean;
    }
    return {{"center", from_matrix_of_floats(centre, {channels_in(embeddings)})}};
  }

  // A loss moves embeddings towards the centre, not the centre.
  Gradients backward(const PassBack&) const override { return {}; }
};

}  // namespace

NodeType deep_svdd_centre() {
  return type_of<DeepSvddCentre>("DeepSVDDCenterTracker", NodeKind::statistical,
                                 "The mean of all embeddings, which follows them while they are trained");
}

}  // namespace stoker::nodes
