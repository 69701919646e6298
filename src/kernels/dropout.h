#pragma once

#include <cstdint>

#include "kernels/begin_step.h"
#include "kernels/float_format.h"
#include "kernels/launch.h"

namespace stoker::kernels {

// Dropout: values of a batch are multiplied by 0 where they are left out, else by 1 / (1 - probability).
// Whether element row * width + column of layer l in step s is left out depends on (seed, s, l, element)
// alone, so the way back decides it once more, and no mask is kept between the two.
struct Drop {
  FloatFormat format = FloatFormat::fp32;
  const void* values = nullptr;
  void* left = nullptr;  // may be where the values are
  std::int64_t elements = 0;
  std::int64_t first = 0;   // the element of the whole batch that the values begin with
  std::uint32_t layer = 0;  // its number among those of the network
  std::uint64_t seed = 0;
  float probability = 0;
  const StepCounters* counters = nullptr;  // current_step is drawn for
};

void drop(const Drop& work);
LaunchError drop_cuda(const Drop& work, Stream stream);
void drop(const Drop& work, const Place& place);

}  // namespace stoker::kernels
