#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

struct LogitSettings {
  double init_scale = 1;
  double init_bias = 0;
};

config::Fields fields(LogitSettings& s) {
  return {config::field("init_scale", s.init_scale, "What scores are multiplied by, to begin with"),
          config::field(
              "init_bias", s.init_bias,
              "Score whose logit is 0, where there are too few pixels to learn it from; they give one two "
              "deviations above their mean score")};
}

class ScoreToLogit final : public NodeWith<LogitSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("scores", "One score a pixel", 1)}; }
  Ports outputs(const Ports& connected) const override {
    return {{"logits", DType::float32, connected[0].shape, "scale × (score - bias)"}};
  }
  Asks asks() const override { return Asks::moments; }
  std::vector<std::string> trainable() const override { return {"scale", "bias"}; }

  // The bias is two deviations above the mean of the scores, as cuvis.ai begins.
  NamedArrays begin(const Ports&, const Known& known) const override {
    double bias = settings_.init_bias;
    if (known.statistics != nullptr && known.statistics->rows > 1)
      bias = known.statistics->mean[0] +
             2 * std::sqrt(known.statistics->squares[0] / (known.statistics->rows - 1));
    return {{"scale", one_number(settings_.init_scale)}, {"bias", one_number(bias)}};
  }

  Values forward(const Pass& pass) const override {
    const Array& scores = value_at(pass.inputs, "scores");
    const auto scale = static_cast<float>(number_in(find_array(pass.state, "scale")));
    const auto bias = static_cast<float>(number_in(find_array(pass.state, "bias")));
    Array logits = with_channels(scores, 1);
    pixels_of(logits) = scale * (pixels_of(scores).array() - bias);
    return {{"logits", logits}};
  }

  Gradients backward(const PassBack& pass) const override {
    const Array& scores = value_at(pass.inputs, "scores");
    const Array& gradient = value_at(pass.gradients, "logits");
    const double scale = number_in(find_array(pass.state, "scale"));
    const double bias = number_in(find_array(pass.state, "bias"));
    Array of_scores = with_channels(scores, 1);
    pixels_of(of_scores) = static_cast<float>(scale) * pixels_of(gradient);
    const auto given = pixels_of(gradient).cast<double>().array();
    return {{{"scores", of_scores}},
            {{"scale", one_number((given * (pixels_of(scores).cast<double>().array() - bias)).sum())},
             {"bias", one_number(-scale * given.sum())}}};
  }
};

}  // namespace

NodeType score_to_logit() {
  return type_of<ScoreToLogit>("ScoreToLogit", NodeKind::statistical,
                               "Brings scores to the scale of logits, by two numbers that may be trained");
}

}  // namespace stoker::nodes
