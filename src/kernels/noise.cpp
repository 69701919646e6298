#include "kernels/noise.h"

#include "base/random.h"
#include "kernels/place.h"

namespace stoker::kernels {

void add_noise(const Noise& work) {
  const RandomKey key =
      random_key(work.seed, Purpose::noise, static_cast<std::uint64_t>(work.counters->current_step));
  for (std::int64_t i = 0; i < work.elements; ++i)
    work.values[i] +=
        work.deviation * static_cast<float>(normal(key, static_cast<std::uint32_t>(work.first + i)));
}

void add_noise(const Noise& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(add_noise_cuda(work, place.stream), "add_noise");
  } else {
    add_noise(work);
  }
}

}  // namespace stoker::kernels
