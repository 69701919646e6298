#include "torch/activation.h"

#include <ATen/ops/_addmm_activation.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/threshold_backward.h>

namespace stoker::torch_door {

void activated_linear(Activation activation, at::Tensor& active, at::Tensor& linear, const at::Tensor& input,
                      const at::Tensor& weight_transposed, const at::Tensor& bias) {
  if (activation == Activation::relu) {
    // One kernel on a GPU: cuBLAS adds the bias and cuts at 0 as it stores the product.
    at::_addmm_activation_out(active, bias, input, weight_transposed);
    return;
  }
  at::addmm_out(linear, bias, input, weight_transposed);
  switch (activation) {
    case Activation::relu:
      break;
    case Activation::tanh:
      at::tanh_out(active, linear);
      break;
    case Activation::sigmoid:
      at::sigmoid_out(active, linear);
      break;
    case Activation::gelu:
      at::gelu_out(active, linear);
      break;
    case Activation::silu:
      at::silu_out(active, linear);
      break;
  }
}

void activation_gradient(Activation activation, at::Tensor& linear_gradient,
                         const at::Tensor& active_gradient, const at::Tensor& linear,
                         const at::Tensor& active) {
  switch (activation) {
    case Activation::relu:
      at::threshold_backward_out(linear_gradient, active_gradient, active, 0);
      break;
    case Activation::tanh:
      at::tanh_backward_out(linear_gradient, active_gradient, active);
      break;
    case Activation::sigmoid:
      at::sigmoid_backward_out(linear_gradient, active_gradient, active);
      break;
    case Activation::gelu:
      at::gelu_backward_out(linear_gradient, active_gradient, linear);
      break;
    case Activation::silu:
      at::silu_backward_out(linear_gradient, active_gradient, linear);
      break;
  }
}

}  // namespace stoker::torch_door
