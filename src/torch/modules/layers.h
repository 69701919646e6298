#pragma once

#include <cstddef>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>

#include "model/layer_specs.h"
#include "torch/modules/module.h"

// Layers that several modules have, under the names that model/layer_specs.h gives their parameters.
namespace stoker::torch_door {

struct Linear {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }
};

inline Linear linear_of(const Parameters& parameters, const std::string& name) {
  return {parameters(name + ".weight"), parameters(name + ".bias")};
}

struct LayerNorm {
  at::Tensor weight;  // undefined: a network without norms
  at::Tensor bias;
  at::Tensor operator()(const at::Tensor& x) const {
    return weight.defined() ? at::layer_norm(x, weight.sizes(), weight, bias, norm_epsilon) : x;
  }
};

inline LayerNorm layer_norm_of(const Parameters& parameters, const std::string& name) {
  return {parameters(name + ".weight"), parameters(name + ".bias")};
}

struct BatchNorm {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor mean;
  at::Tensor variance;
  // A single row has no variance: it is normed as in a prediction.
  at::Tensor operator()(const at::Tensor& x, bool is_training) const {
    return at::batch_norm(x, weight, bias, mean, variance, is_training && x.size(0) > 1, batch_norm_momentum,
                          norm_epsilon, /*cudnn_enabled=*/false);
  }
};

inline BatchNorm batch_norm_of(const Parameters& parameters, const std::string& name) {
  return {parameters(name + ".weight"), parameters(name + ".bias"), parameters(name + ".running_mean"),
          parameters(name + ".running_variance")};
}

// What is left of x by the mask of that number among the module's dropout_layers().
inline at::Tensor drop(const at::Tensor& x, const Pass& pass, std::size_t number) {
  if (pass.masks.empty() || !pass.masks[number].defined()) return x;
  return at::mul(x, pass.masks[number].view(x.sizes()));
}

}  // namespace stoker::torch_door
