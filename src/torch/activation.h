#pragma once

#include <ATen/core/Tensor.h>

#include "model/network/mlp.h"

namespace stoker::torch_door {

// active = activation(input * weight_transposed + bias). `linear` keeps the argument of the activation where
// its derivative needs it (gelu, silu); elsewhere it is only scratch.
void activated_linear(Activation activation, at::Tensor& active, at::Tensor& linear, const at::Tensor& input,
                      const at::Tensor& weight_transposed, const at::Tensor& bias);

// gradient of the linear part from the gradient of the active one.
void activation_gradient(Activation activation, at::Tensor& linear_gradient,
                         const at::Tensor& active_gradient, const at::Tensor& linear,
                         const at::Tensor& active);

}  // namespace stoker::torch_door
