#pragma once

#include <cstdint>

#include "kernels/begin_step.h"
#include "kernels/launch.h"

namespace stoker::kernels {

// Standard normal numbers times a deviation, added to values of a batch. What element row * width + column
// gets in step s depends on (seed, s, element) alone.
struct Noise {
  float* values = nullptr;
  std::int64_t elements = 0;
  std::int64_t first = 0;  // the element of the whole batch that the values begin with
  std::uint64_t seed = 0;
  float deviation = 0;
  const StepCounters* counters = nullptr;  // current_step is drawn for
};

void add_noise(const Noise& work);
LaunchError add_noise_cuda(const Noise& work, Stream stream);
void add_noise(const Noise& work, const Place& place);

}  // namespace stoker::kernels
