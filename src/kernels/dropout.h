#pragma once

#include <cstdint>

#include "kernels/begin_step.h"
#include "kernels/launch.h"

namespace stoker::kernels {

// The dropout masks of several layers in one go: 0 where an element is left out, else 1 / (1 - probability).
// Element row * width + column of layer l in step s depends on (seed, s, l, element) alone.
struct DropoutMasks {
  static constexpr int most_layers = 16;  // per launch; deeper networks take several

  struct Layer {
    float* mask = nullptr;
    std::int64_t elements = 0;  // rows * width
    std::int64_t first = 0;     // the element of the whole batch that the mask begins with
  };
  Layer layers[most_layers];
  int layer_count = 0;
  std::uint32_t first_layer = 0;  // number of layers[0] in the network
  std::uint64_t seed = 0;
  float probability = 0;
  const StepCounters* counters = nullptr;  // current_step is drawn for
};

void dropout_masks(const DropoutMasks& work);
LaunchError dropout_masks_cuda(const DropoutMasks& work, Stream stream);
void dropout_masks(const DropoutMasks& work, const Place& place);

}  // namespace stoker::kernels
