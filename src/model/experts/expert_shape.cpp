#include "model/experts/expert_shape.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/family.h"

namespace stoker {

std::int64_t losses_behind(const ExpertSettings& settings) {
  return (settings.load_balance > 0 ? 1 : 0) + (settings.router_z > 0 ? 1 : 0);
}

std::optional<ExpertShape> expert_shape(const Network& network) {
  if (network.family != experts_family) return std::nullopt;
  if (network.inputs.size() != 1 || network.inputs.front().shape.size() != 1)
    refuse("{} reads one row of numbers", network.family);
  ExpertShape shape{settings_as<ExpertSettings>(network.settings), feature_width(network), network.outputs};
  shape.outputs -= losses_behind(shape.settings);
  return shape;
}

std::int64_t parameters_of_one_expert(const ExpertShape& shape) {
  std::int64_t count = 0;
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer)
    count += (shape.layer_inputs(layer) + 1) * shape.layer_outputs(layer);
  return count;
}

std::int64_t parameters_of_router(const ExpertShape& shape, std::int64_t experts) {
  return (shape.inputs + 1) * shape.router_width() + (shape.router_width() + 1) * experts;
}

std::string expert_weight(std::size_t layer) {
  return fmt::format("experts.{}.weight", layer);
}
std::string expert_bias(std::size_t layer) {
  return fmt::format("experts.{}.bias", layer);
}

}  // namespace stoker
