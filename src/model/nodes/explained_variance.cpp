#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {
namespace {

class ExplainedVariance final : public NodeWith<NoSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override {
    return {
        {"explained_variance_ratio", DType::float32, {-1}, "Share of the variance that each component has"}};
  }
  Ports outputs(const Ports& connected) const override {
    return {{"total_explained_variance", DType::float32, {}, "Share that all components have together"},
            {"cumulative_variance", DType::float32, connected[0].shape,
             "Share that each and those before it have"}};
  }
  Values forward(const Pass& pass) const override {
    const Array& ratios = value_at(pass.inputs, "explained_variance_ratio");
    std::vector<double> sums;
    double sum = 0;
    for (const float ratio : ratios.as<float>()) sums.push_back(sum += static_cast<double>(ratio));
    return {{"total_explained_variance", one_number(sum)},
            {"cumulative_variance", numbers(ratios.shape(), sums)}};
  }
};

}  // namespace

NodeType explained_variance_metric() {
  return type_of<ExplainedVariance>("ExplainedVarianceMetric", NodeKind::metric,
                                    "The share of the variance that components keep");
}

}  // namespace stoker::nodes
