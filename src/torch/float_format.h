#pragma once

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "kernels/float_format.h"

namespace stoker::torch_door {

inline kernels::FloatFormat float_format_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return kernels::FloatFormat::fp32;
    case at::kBFloat16:
      return kernels::FloatFormat::bf16;
    case at::kHalf:
      return kernels::FloatFormat::fp16;
    default:
      fail("values between layers of type {}", c10::toString(tensor.scalar_type()));
  }
}

}  // namespace stoker::torch_door
