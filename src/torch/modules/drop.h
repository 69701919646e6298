#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "torch/modules/module.h"

namespace stoker::torch_door {

// Whether the pass leaves anything out at that number among the module's dropout_layers().
bool drops(const Pass& pass, std::size_t number);

// What it leaves of x, in the format of x: autograd keeps nothing for it, as kernels/dropout.h says.
at::Tensor drop(const at::Tensor& x, const Pass& pass, std::size_t number);
// What it multiplies so many rows with, [rows, width] in fp32, for layers that drop by themselves; undefined
// where nothing is left out.
at::Tensor drawn_mask(const Pass& pass, std::size_t number, std::int64_t rows);

}  // namespace stoker::torch_door
