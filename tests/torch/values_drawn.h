#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>

#include "base/random.h"
#include "device/array.h"

namespace stoker::test {

// Between -1 and 1, the same for the same number.
inline at::Tensor drawn(const Shape& shape, std::uint64_t number) {
  at::Tensor tensor = at::ones(shape);
  const RandomKey key = random_key(7, Purpose::sample, number);
  for (std::int64_t i = 0; i < tensor.numel(); ++i)
    tensor.mutable_data_ptr<float>()[i] =
        static_cast<float>(2 * uniform(key, static_cast<std::uint32_t>(i)) - 1);
  return tensor;
}

}  // namespace stoker::test
