#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/dropout.h"

namespace stoker::torch_door {

// What draws these masks, layer by layer, in launches of at most DropoutMasks::most_layers.
inline std::vector<kernels::DropoutMasks> launches_of(const std::vector<at::Tensor>& masks,
                                                      double probability, std::uint64_t seed,
                                                      const kernels::StepCounters* counters) {
  std::vector<kernels::DropoutMasks> launches;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    if (i % kernels::DropoutMasks::most_layers == 0) {
      kernels::DropoutMasks launch;
      launch.first_layer = static_cast<std::uint32_t>(i);
      launch.seed = seed;
      launch.probability = static_cast<float>(probability);
      launch.counters = counters;
      launches.push_back(launch);
    }
    launches.back().layers[launches.back().layer_count++] = {masks[i].mutable_data_ptr<float>(),
                                                             masks[i].numel()};
  }
  return launches;
}

}  // namespace stoker::torch_door
