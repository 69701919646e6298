#pragma once

#include <algorithm>
#include <cstdint>

#include "device/array.h"

namespace stoker::fused_cpu {

// A flat buffer of zeros, aligned for vectors.
inline Array zeros(std::int64_t count) {
  Array array(DType::float32, {count});
  std::ranges::fill(array.as<float>(), 0.0F);
  return array;
}

}  // namespace stoker::fused_cpu
