#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "torch/modules/module.h"

namespace stoker::torch_door {

// What a part of a module makes of what enters it. It must do the same each time it is called: no numbers
// drawn, no buffers changed.
using Segment = std::function<at::Tensor(const at::Tensor& entering)>;

// The segment's output. Where the pass recomputes, only what enters it is kept for the way back, on which the
// segment is computed once more: its gradients are the same to the bit, and the memory of all but one segment
// is saved for the time of one more way forward.
at::Tensor run_segment(const Pass& pass, const at::Tensor& entering, Segment segment);

}  // namespace stoker::torch_door
