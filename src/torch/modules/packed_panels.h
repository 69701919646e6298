#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "fused/cpu/step.h"

namespace stoker::torch_door {

// A weight as a matrix of [depth, columns] in the order in which many products read it.
inline at::Tensor packed_panels(const fused_cpu::Kernels& kernels, const at::Tensor& weight,
                                std::int64_t depth, std::int64_t columns, bool is_turned) {
  at::Tensor panels = at::empty({depth * columns}, weight.options());
  kernels.pack_panels(
      {depth, columns, weight.const_data_ptr<float>(), is_turned, panels.mutable_data_ptr<float>()});
  return panels;
}

}  // namespace stoker::torch_door
