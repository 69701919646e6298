#include <algorithm>

#include "config/usual_bounds.h"
#include "model/network/sigmoid.h"
#include "model/nodes/loss_node.h"
#include "model/nodes/nodes.h"

namespace stoker::nodes {

enum class IouNormalization : std::uint8_t { sigmoid, clamp, minmax };

}  // namespace stoker::nodes

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::nodes::IouNormalization>{
    "sigmoid", "clamp", "minmax"};

namespace stoker::nodes {
namespace {

struct IouSettings {
  double weight = 1;
  double smooth = 1e-6;
  IouNormalization normalize_method = IouNormalization::sigmoid;
};

config::Fields fields(IouSettings& s) {
  return {weight_field(s.weight),
          config::field("smooth", s.smooth, "Added to the intersection and to the union")
              .above(0)
              .within(0, config::largest_eps),
          config::field("normalize_method", s.normalize_method,
                        "How scores are brought to the range from 0 to 1")};
}

class IouLoss final : public LossNode<IouSettings> {
 public:
  using LossNode::LossNode;

  Ports inputs() const override {
    return {cube_port("predictions", "Scores", 1), mask_port("targets", "Marked pixels")};
  }
  Values forward(const Pass& pass) const override {
    const Sums sums = sums_of(pass.inputs);
    return loss(settings_.weight * (1 - (sums.both + settings_.smooth) / (sums.any + settings_.smooth)));
  }
  // A range of scores is taken as given, but for its two ends.
  Gradients backward(const PassBack& pass) const override {
    const auto scores = value_at(pass.inputs, "predictions").as<float>();
    const auto targets = value_at(pass.inputs, "targets").as<std::uint8_t>();
    const Sums sums = sums_of(pass.inputs);
    const double any = sums.any + settings_.smooth;
    const double both = sums.both + settings_.smooth;
    const double factor = -settings_.weight * change(pass);
    Array gradient = with_channels(value_at(pass.inputs, "predictions"), 1);
    const auto to = gradient.as<float>();
    const Range range = range_of(scores);
    double of_least = 0, of_width = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double of_share = factor * (targets[i] != 0 ? 1 / any : -both / (any * any));
      const auto score = static_cast<double>(scores[i]);
      to[i] = static_cast<float>(of_share * slope(score, range));
      if (settings_.normalize_method == IouNormalization::minmax && range.width > 0) {
        of_least -= of_share * slope(score, range);
        of_width -= of_share * (score - range.least) * slope(score, range) * slope(score, range);
      }
    }
    if (settings_.normalize_method == IouNormalization::minmax && range.width > 0) {
      to[range.at_least] += static_cast<float>(of_least - of_width);
      to[range.at_most] += static_cast<float>(of_width);
    }
    return {{{"predictions", gradient}}, {}};
  }

 private:
  struct Range {
    double least = 0, width = 0;
    std::size_t at_least = 0, at_most = 0;
  };
  struct Sums {
    double both = 0, any = 0;
  };

  static Range range_of(std::span<const float> scores) {
    const auto [least, most] = std::ranges::minmax_element(scores);
    if (scores.empty()) return {};
    return {static_cast<double>(*least), static_cast<double>(*most) - static_cast<double>(*least),
            static_cast<std::size_t>(least - scores.begin()),
            static_cast<std::size_t>(most - scores.begin())};
  }
  double share(double score, const Range& range) const {
    switch (settings_.normalize_method) {
      case IouNormalization::sigmoid:
        return stoker::sigmoid(score);
      case IouNormalization::clamp:
        return std::clamp(score, 0.0, 1.0);
      default:
        return range.width > 0 ? (score - range.least) / (range.width + settings_.smooth) : 0.5;
    }
  }
  double slope(double score, const Range& range) const {
    const double value = share(score, range);
    switch (settings_.normalize_method) {
      case IouNormalization::sigmoid:
        return value * (1 - value);
      case IouNormalization::clamp:
        return score >= 0 && score <= 1 ? 1 : 0;
      default:
        return range.width > 0 ? 1 / (range.width + settings_.smooth) : 0;
    }
  }
  Sums sums_of(const Values& inputs) const {
    const auto scores = value_at(inputs, "predictions").as<float>();
    const auto targets = value_at(inputs, "targets").as<std::uint8_t>();
    const Range range = range_of(scores);
    Sums sums;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double value = share(static_cast<double>(scores[i]), range);
      const double target = targets[i] != 0 ? 1 : 0;
      sums.both += value * target;
      sums.any += value + target - value * target;
    }
    return sums;
  }
};

}  // namespace

NodeType iou_loss() {
  return type_of<IouLoss>("IoULoss", NodeKind::loss,
                          "1 less the share that scores and marked pixels have in common");
}

}  // namespace stoker::nodes
