#pragma once

#include <cstddef>

#include <ATen/core/Tensor.h>

#include "torch/modules/module.h"

namespace stoker::torch_door {

// Whether the pass leaves anything out at that number among the module's dropout_layers().
bool drops(const Pass& pass, std::size_t number);

// What it leaves of x, in the format of x: autograd keeps nothing for it, as kernels/dropout.h says.
at::Tensor drop(const at::Tensor& x, const Pass& pass, std::size_t number);

}  // namespace stoker::torch_door
