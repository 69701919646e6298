#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>

#include "model/network/activation.h"

namespace stoker::torch_door {

// As autograd sees it.
inline at::Tensor activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::relu:
      break;
    case Activation::tanh:
      return at::tanh(x);
    case Activation::sigmoid:
      return at::sigmoid(x);
    case Activation::gelu:
      return at::gelu(x);
    case Activation::silu:
      return at::silu(x);
  }
  return at::relu(x);
}

}  // namespace stoker::torch_door
