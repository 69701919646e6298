#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/dropout.h"

namespace stoker::torch_door {

struct DrawnMask {
  at::Tensor mask;  // undefined: nothing is left out, and nothing drawn
  double probability = 0;
};

// What draws these masks, layer by layer, in launches of one probability and at most
// DropoutMasks::most_layers. A mask's number among all, drawn or not, is that of its layer.
inline std::vector<kernels::DropoutMasks> launches_of(const std::vector<DrawnMask>& masks, std::uint64_t seed,
                                                      const kernels::StepCounters* counters) {
  std::vector<kernels::DropoutMasks> launches;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (!masks[i].mask.defined()) continue;
    const auto probability = static_cast<float>(masks[i].probability);
    const bool continues = !launches.empty() && launches.back().probability == probability &&
                           launches.back().layer_count < kernels::DropoutMasks::most_layers &&
                           launches.back().first_layer + launches.back().layer_count == i;
    if (!continues) {
      kernels::DropoutMasks launch;
      launch.first_layer = static_cast<std::uint32_t>(i);
      launch.seed = seed;
      launch.probability = probability;
      launch.counters = counters;
      launches.push_back(launch);
    }
    launches.back().layers[launches.back().layer_count++] = {masks[i].mask.mutable_data_ptr<float>(),
                                                             masks[i].mask.numel()};
  }
  return launches;
}

}  // namespace stoker::torch_door
