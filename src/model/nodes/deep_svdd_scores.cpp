#include "model/nodes/channel_count.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"
#include "model/nodes/quadratic_form.h"

namespace stoker::nodes {
namespace {

class DeepSvddScores final : public NodeWith<NoSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override {
    return {cube_port("embeddings", "Of pixels"),
            {"center", DType::float32, {-1}, "What they are measured from"}};
  }
  Ports outputs(const Ports& connected) const override {
    check_same_channels(connected[0], connected[1]);
    return {scores_behind(connected[0], "Squared distance from the centre")};
  }

  Values forward(const Pass& pass) const override {
    check_same_channels(pass.inputs, "embeddings", "center");
    const Array& embeddings = value_at(pass.inputs, "embeddings");
    const auto centre = pixels_of(value_at(pass.inputs, "center")).row(0);
    Array scores = with_channels(embeddings, 1);
    pixels_of(scores) = (pixels_of(embeddings).rowwise() - centre).rowwise().squaredNorm();
    return {{"scores", scores}};
  }

  Gradients backward(const PassBack& pass) const override {
    const Array& embeddings = value_at(pass.inputs, "embeddings");
    const auto centre = pixels_of(value_at(pass.inputs, "center")).row(0);
    const auto gradient = pixels_of(value_at(pass.gradients, "scores")).col(0).array();
    Array of_embeddings = with_channels(embeddings, channels_in(embeddings));
    pixels_of(of_embeddings) = 2 * ((pixels_of(embeddings).rowwise() - centre).array().colwise() * gradient);
    const PixelMatrix of_centre = -pixels_of(of_embeddings).colwise().sum();
    return {{{"embeddings", of_embeddings},
             {"center", from_matrix_of_floats(of_centre, {channels_in(embeddings)})}},
            {}};
  }
};

}  // namespace

NodeType deep_svdd_scores() {
  return type_of<DeepSvddScores>("DeepSVDDScores", NodeKind::stateless,
                                 "Scores pixels by the squared distance of their embedding from the centre");
}

}  // namespace stoker::nodes
